; A robot with wheels and one arm. It reaches what is where it stands.
(define (domain canteen)
  (:requirements :strips :typing :negative-preconditions :equality :universal-preconditions :conditional-effects)
  (:types place item - object
          surface container - place)
  (:predicates
    (robot_at ?p - place)
    (holding ?i - item)
    (hand_empty)
    (on ?i - item ?p - surface)
    (in ?i - item ?c - container)
    (opened ?c - container)
    (washable ?i - item)
    (washed ?i - item)
    (washer ?p - place))

  (:action drive
    :parameters (?p - place)
    :precondition (and (not (robot_at ?p)))
    :effect (and (robot_at ?p) (forall (?q - place) (when (not (= ?q ?p)) (not (robot_at ?q))))))
  (:action pick
    :parameters (?i - item ?p - surface)
    :precondition (and (robot_at ?p) (on ?i ?p) (hand_empty))
    :effect (and (holding ?i) (not (on ?i ?p)) (not (hand_empty))))
  (:action take_out
    :parameters (?i - item ?c - container)
    :precondition (and (robot_at ?c) (in ?i ?c) (opened ?c) (hand_empty))
    :effect (and (holding ?i) (not (in ?i ?c)) (not (hand_empty))))
  (:action place
    :parameters (?i - item ?p - surface)
    :precondition (and (robot_at ?p) (holding ?i))
    :effect (and (on ?i ?p) (hand_empty) (not (holding ?i))))
  (:action put_in
    :parameters (?i - item ?c - container)
    :precondition (and (robot_at ?c) (holding ?i) (opened ?c))
    :effect (and (in ?i ?c) (hand_empty) (not (holding ?i))))
  (:action open
    :parameters (?c - container)
    :precondition (and (robot_at ?c) (hand_empty) (not (opened ?c)))
    :effect (opened ?c))
  (:action close
    :parameters (?c - container)
    :precondition (and (robot_at ?c) (hand_empty) (opened ?c))
    :effect (not (opened ?c)))
  (:action wash
    :parameters (?i - item ?p - place)
    :precondition (and (robot_at ?p) (washer ?p) (holding ?i) (washable ?i))
    :effect (washed ?i)))
