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
    (at_base)                           ; the arm is in its home position
    (left_of ?i - item ?t - thing)      ; beside it, towards the robot's left
    (right_of ?i - item ?t - thing)     ; beside it, towards the robot's right
    (front_of ?i - item ?t - thing)     ; beside it, on the robot's side
    (behind ?i - item ?t - thing)       ; beside it, on the far side
    (near ?i - item ?t - thing)         ; with little room between them
    (apart ?i - item)                   ; it stands on the table with nothing near
    (between ?i - item ?a - thing ?b - thing) ; on the line from one to the other
    (moved_left ?i - item)              ; farther to the left than it was before the task
    (moved_right ?i - item)
    (moved_to_front ?i - item)          ; nearer to the robot than it was
    (moved_to_back ?i - item)
    (nearer ?i - item ?t - thing)       ; nearer to it than it was
    (farther ?i - item ?t - thing)      ; farther from it than it was
    (upright ?i - item)                 ; it stands as it is high: no action here stands it up
    (handed_over ?i - item))            ; a person has taken it out of the gripper

  (:action grasp
    :parameters (?i - item)
    :precondition (and (hand_empty) (clear ?i) (reachable ?i))
    :effect (and (holding ?i) (not (hand_empty)) (not (at_base)) (not (apart ?i))
      (not (moved_left ?i)) (not (moved_right ?i)) (not (moved_to_front ?i)) (not (moved_to_back ?i))
      (forall (?o - thing) (and (not (nearer ?i ?o)) (not (farther ?i ?o))))
      (forall (?t - (either item surface)) (when (on ?i ?t) (and (not (on ?i ?t)) (clear ?t))))
      (forall (?c - container) (when (in ?i ?c) (not (in ?i ?c))))
      (forall (?l - location) (when (at ?i ?l) (and (not (at ?i ?l)) (clear ?l))))
      (forall (?o - thing) (and (not (left_of ?i ?o)) (not (right_of ?i ?o)) (not (front_of ?i ?o)) (not (behind ?i ?o)) (not (near ?i ?o))))
      (forall (?o - item) (and (not (left_of ?o ?i)) (not (right_of ?o ?i)) (not (front_of ?o ?i)) (not (behind ?o ?i)) (not (near ?o ?i))))
      (forall (?a - thing ?b - thing) (not (between ?i ?a ?b)))
      (forall (?o - item ?a - thing) (and (not (between ?o ?i ?a)) (not (between ?o ?a ?i))))))

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

  (:action place_left_of
    :parameters (?i - item ?t - thing)
    :precondition (and (holding ?i) (reachable ?t) (not (= ?i ?t)))
    :effect (and (left_of ?i ?t) (near ?i ?t) (hand_empty) (not (holding ?i)) (not (at_base))
      (forall (?o - item) (when (= ?o ?t) (not (apart ?o))))))

  (:action place_right_of
    :parameters (?i - item ?t - thing)
    :precondition (and (holding ?i) (reachable ?t) (not (= ?i ?t)))
    :effect (and (right_of ?i ?t) (near ?i ?t) (hand_empty) (not (holding ?i)) (not (at_base))
      (forall (?o - item) (when (= ?o ?t) (not (apart ?o))))))

  (:action place_in_front_of
    :parameters (?i - item ?t - thing)
    :precondition (and (holding ?i) (reachable ?t) (not (= ?i ?t)))
    :effect (and (front_of ?i ?t) (near ?i ?t) (hand_empty) (not (holding ?i)) (not (at_base))
      (forall (?o - item) (when (= ?o ?t) (not (apart ?o))))))

  (:action place_behind
    :parameters (?i - item ?t - thing)
    :precondition (and (holding ?i) (reachable ?t) (not (= ?i ?t)))
    :effect (and (behind ?i ?t) (near ?i ?t) (hand_empty) (not (holding ?i)) (not (at_base))
      (forall (?o - item) (when (= ?o ?t) (not (apart ?o))))))

  (:action place_between
    :parameters (?i - item ?a - thing ?b - thing)
    :precondition (and (holding ?i) (reachable ?a) (reachable ?b) (not (= ?i ?a)) (not (= ?i ?b)) (not (= ?a ?b)))
    :effect (and (between ?i ?a ?b) (between ?i ?b ?a) (hand_empty) (not (holding ?i)) (not (at_base))))

  ; With closed fingers, along a straight line to where nothing is near; it leaves places with room for one item.
  (:action push_aside
    :parameters (?i - item)
    :precondition (and (hand_empty) (clear ?i) (reachable ?i))
    :effect (and (apart ?i) (not (at_base))
      (forall (?l - location) (when (and (at ?i ?l) (narrow ?l)) (and (not (at ?i ?l)) (clear ?l))))
      (forall (?o - thing) (and (not (left_of ?i ?o)) (not (right_of ?i ?o)) (not (front_of ?i ?o)) (not (behind ?i ?o)) (not (near ?i ?o))))
      (forall (?o - item) (and (not (left_of ?o ?i)) (not (right_of ?o ?i)) (not (front_of ?o ?i)) (not (behind ?o ?i)) (not (near ?o ?i))))
      (forall (?a - thing ?b - thing) (not (between ?i ?a ?b)))
      (forall (?o - item ?a - thing) (and (not (between ?o ?i ?a)) (not (between ?o ?a ?i))))))

  (:action hand_over
    :parameters (?i - item)
    :precondition (holding ?i)
    :effect (and (handed_over ?i) (hand_empty) (not (holding ?i)) (not (at_base))))

  ; ProgPrompt's one tabletop action: pick it up and put it in (or on) a receptacle.
  (:action grab_and_putin
    :parameters (?i - item ?r - (either container surface))
    :precondition (and (hand_empty) (clear ?i) (reachable ?i) (clear ?r) (reachable ?r))
    :effect (and (not (at_base)) (not (apart ?i))
      (forall (?t - (either item surface)) (when (on ?i ?t) (and (not (on ?i ?t)) (clear ?t))))
      (forall (?c - container) (when (in ?i ?c) (not (in ?i ?c))))
      (forall (?l - location) (when (at ?i ?l) (and (not (at ?i ?l)) (clear ?l))))
      (forall (?o - thing) (and (not (left_of ?i ?o)) (not (right_of ?i ?o)) (not (front_of ?i ?o)) (not (behind ?i ?o)) (not (near ?i ?o))))
      (forall (?o - item) (and (not (left_of ?o ?i)) (not (right_of ?o ?i)) (not (front_of ?o ?i)) (not (behind ?o ?i)) (not (near ?o ?i))))
      (forall (?a - thing ?b - thing) (not (between ?i ?a ?b)))
      (forall (?o - item ?a - thing) (and (not (between ?o ?i ?a)) (not (between ?o ?a ?i))))
      (forall (?c - container) (when (= ?c ?r) (in ?i ?c)))
      (forall (?s - surface) (when (= ?s ?r) (on ?i ?s)))))

  (:action place_farther_left
    :parameters (?i - item)
    :precondition (and (holding ?i))
    :effect (and (moved_left ?i) (hand_empty) (not (holding ?i)) (not (at_base))))

  (:action place_farther_right
    :parameters (?i - item)
    :precondition (and (holding ?i))
    :effect (and (moved_right ?i) (hand_empty) (not (holding ?i)) (not (at_base))))

  (:action place_farther_to_front
    :parameters (?i - item)
    :precondition (and (holding ?i))
    :effect (and (moved_to_front ?i) (hand_empty) (not (holding ?i)) (not (at_base))))

  (:action place_farther_to_back
    :parameters (?i - item)
    :precondition (and (holding ?i))
    :effect (and (moved_to_back ?i) (hand_empty) (not (holding ?i)) (not (at_base))))

  (:action place_nearer_to
    :parameters (?i - item ?t - thing)
    :precondition (and (holding ?i) (reachable ?t) (not (= ?i ?t)))
    :effect (and (nearer ?i ?t) (hand_empty) (not (holding ?i)) (not (at_base))))

  (:action place_farther_from
    :parameters (?i - item ?t - thing)
    :precondition (and (holding ?i) (reachable ?t) (not (= ?i ?t)))
    :effect (and (farther ?i ?t) (hand_empty) (not (holding ?i)) (not (at_base)))))
