"""Action trees, behaviour trees and programs, and their forms for exchange."""
