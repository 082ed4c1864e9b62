; A robot arm with one gripper at a table.
; What PDDL cannot say (phrases, inverses, uncertain effects) stands in tabletop.yaml.
(define (domain tabletop)
  (:requirements :strips :typing :negative-preconditions :equality :conditional-effects)

  (:types
    thing location - object
    item container surface - thing)  ; items can be grasped; they lie in containers (bowl, box, tray), on surfaces (plate)

  (:predicates
    (holding ?i - item)                 ; the gripper holds it
    (hand_empty)                        ; the gripper holds nothing
    (on ?i - item ?t - (either item surface)) ; it rests on a plate or on another item
    (in ?i - item ?c - container)       ; it lies in a bowl, box or tray
    (at ?i - item ?l - location)        ; it stands on the table within this place
    (clear ?x)                          ; there is room on top of it, or at this place
    (narrow ?x)                         ; has room for one item only (items, and spots on the table)
    (within ?l - location ?m - location); place l is part of place m
    (reachable ?x)                      ; the gripper can get there
    (at_base))                          ; the arm is in its home position

  (:action grasp
    :parameters (?i - item)
    :precondition (and (hand_empty) (clear ?i) (reachable ?i))
    :effect (and (holding ?i) (not (hand_empty)) (not (at_base))
      (forall (?t - (either item surface)) (when (on ?i ?t) (and (not (on ?i ?t)) (clear ?t))))
      (forall (?c - container) (when (in ?i ?c) (not (in ?i ?c))))
      (forall (?l - location) (when (at ?i ?l) (and (not (at ?i ?l)) (clear ?l))))))

  (:action place_on
    :parameters (?i - item ?t - (either item surface))
    :precondition (and (holding ?i) (clear ?t) (reachable ?t) (not (= ?i ?t)))
    :effect (and (on ?i ?t) (hand_empty) (not (holding ?i)) (not (at_base))
      (when (narrow ?t) (not (clear ?t)))))

  (:action place_in
    :parameters (?i - item ?c - container)
    :precondition (and (holding ?i) (reachable ?c))
    :effect (and (in ?i ?c) (hand_empty) (not (holding ?i)) (not (at_base))))

  (:action place_at
    :parameters (?i - item ?l - location)
    :precondition (and (holding ?i) (clear ?l) (reachable ?l))
    :effect (and (at ?i ?l) (hand_empty) (not (holding ?i)) (not (at_base))
      (forall (?m - location) (when (within ?l ?m) (at ?i ?m)))
      (when (narrow ?l) (not (clear ?l)))))

  (:action return_to_base
    :parameters ()
    :precondition (and)
    :effect (at_base))

  ; ProgPrompt's one tabletop action: pick it up and put it in (or on) a receptacle.
  (:action grab_and_putin
    :parameters (?i - item ?r - (either container surface))
    :precondition (and (hand_empty) (clear ?i) (reachable ?i) (clear ?r) (reachable ?r))
    :effect (and (not (at_base))
      (forall (?t - (either item surface)) (when (on ?i ?t) (and (not (on ?i ?t)) (clear ?t))))
      (forall (?c - container) (when (in ?i ?c) (not (in ?i ?c))))
      (forall (?l - location) (when (at ?i ?l) (and (not (at ?i ?l)) (clear ?l))))
      (forall (?c - container) (when (= ?c ?r) (in ?i ?c)))
      (forall (?s - surface) (when (= ?s ?r) (on ?i ?s))))))
