; A robot arm at a counter with things that open, close and switch.
; What PDDL cannot say (phrases, inverses, words) stands in kitchen.yaml, which extends tabletop: predicates and actions with
; nothing but their name are those of tabletop.pddl. `planweave export kitchen` prints the whole, for other planners.
(define (domain kitchen)
  (:requirements :strips :typing :negative-preconditions :equality :conditional-effects :universal-preconditions
    :disjunctive-preconditions)

  (:types
    thing location - object
    item fixture part - thing    ; items are moved; fixtures (cabinet, stove) stand; parts (drawer, compartment) belong to one
    lid - item)                  ; made to lie on the rim of what has an inside

  (:predicates
    holding hand_empty
    (on ?i - item ?t - thing)           ; it rests on it
    (in ?i - item ?c - thing)           ; it lies inside it
    at                                  ; it stands on the counter within this place
    (opened ?x - thing)
    (closed ?x - thing)
    (turned_on ?x - thing)
    (turned_off ?x - thing)
    (clear ?x - thing)                  ; nothing is on top of it
    reachable at_base
    left_of right_of front_of behind near between moved_left moved_right moved_to_front moved_to_back ; for who gives the orders
    handed_over nearer farther upright
    (under ?i - item ?t - thing)        ; in the room beneath it, as below a shelf's board
    (room_under ?x - thing)             ; things can stand there
    (part_of ?p - part ?f - fixture)    ; a drawer of a cabinet, a compartment of a caddy
    (holds_things ?x - thing)           ; has an inside
    (covered ?x - thing)                ; something lies on its rim, over its inside
    (bears_things ?x - thing)           ; things can stand on it
    (can_open ?x - thing)
    (can_turn ?x - thing)               ; has a knob or a switch
    (blocks ?o - thing ?x - thing))     ; it, or what is open of it, is in the way of opening or closing that

  (:action grasp
    :parameters (?i - item)
    :precondition (and (hand_empty) (clear ?i) (reachable ?i)
      (forall (?c - thing) (or (not (in ?i ?c)) (not (can_open ?c)) (opened ?c)))
      (forall (?c - thing) (or (not (in ?i ?c)) (not (covered ?c)))))
    :effect (and (holding ?i) (not (hand_empty)) (not (at_base))
      (not (moved_left ?i)) (not (moved_right ?i)) (not (moved_to_front ?i)) (not (moved_to_back ?i))
      (forall (?o - thing) (and (not (nearer ?i ?o)) (not (farther ?i ?o))))
      (forall (?x - thing) (not (blocks ?i ?x)))
      (forall (?t - thing) (when (on ?i ?t) (and (not (on ?i ?t)) (clear ?t) (not (covered ?t)))))
      (forall (?c - thing) (when (in ?i ?c) (not (in ?i ?c))))
      (forall (?b - thing) (when (under ?i ?b) (not (under ?i ?b))))
      (forall (?l - location) (when (at ?i ?l) (not (at ?i ?l))))
      (forall (?o - thing) (and (not (left_of ?i ?o)) (not (right_of ?i ?o)) (not (front_of ?i ?o)) (not (behind ?i ?o)) (not (near ?i ?o))))
      (forall (?o - item) (and (not (left_of ?o ?i)) (not (right_of ?o ?i)) (not (front_of ?o ?i)) (not (behind ?o ?i)) (not (near ?o ?i))))
      (forall (?a - thing ?b - thing) (not (between ?i ?a ?b)))
      (forall (?o - item ?a - thing) (and (not (between ?o ?i ?a)) (not (between ?o ?a ?i))))))

  (:action place_on
    :parameters (?i - item ?t - thing)
    :precondition (and (holding ?i) (bears_things ?t) (not (covered ?t)) (reachable ?t) (not (= ?i ?t))
      (forall (?c - thing) (or (not (in ?t ?c)) (not (can_open ?c)) (opened ?c)))
      (forall (?c - thing) (or (not (in ?t ?c)) (not (covered ?c)))))
    :effect (and (on ?i ?t) (hand_empty) (not (holding ?i)) (not (at_base))
      (forall (?o - item) (when (= ?o ?t) (not (clear ?o))))
      (forall (?l - lid ?o - item) (when (and (= ?l ?i) (= ?o ?t) (holds_things ?o)) (covered ?o)))))

  (:action place_in
    :parameters (?i - item ?c - thing)
    :precondition (and (holding ?i) (holds_things ?c) (or (opened ?c) (not (can_open ?c))) (not (covered ?c))
      (reachable ?c) (not (= ?i ?c))
      (forall (?o - thing) (or (not (in ?c ?o)) (not (can_open ?o)) (opened ?o)))
      (forall (?o - thing) (or (not (in ?c ?o)) (not (covered ?o)))))
    :effect (and (in ?i ?c) (hand_empty) (not (holding ?i)) (not (at_base))))

  (:action place_under
    :parameters (?i - item ?t - thing)
    :precondition (and (holding ?i) (room_under ?t) (reachable ?t) (not (= ?i ?t)))
    :effect (and (under ?i ?t) (hand_empty) (not (holding ?i)) (not (at_base))))

  (:action place_at
    :parameters (?i - item ?l - location)
    :precondition (and (holding ?i) (reachable ?l))
    :effect (and (at ?i ?l) (hand_empty) (not (holding ?i)) (not (at_base))))

  (:action place_left_of
    :parameters (?i - item ?t - thing)
    :precondition (and (holding ?i) (reachable ?t) (not (= ?i ?t))
      (forall (?c - thing) (or (not (in ?t ?c)) (not (can_open ?c)) (opened ?c))))
    :effect (and (left_of ?i ?t) (near ?i ?t) (hand_empty) (not (holding ?i)) (not (at_base))))

  (:action place_right_of
    :parameters (?i - item ?t - thing)
    :precondition (and (holding ?i) (reachable ?t) (not (= ?i ?t))
      (forall (?c - thing) (or (not (in ?t ?c)) (not (can_open ?c)) (opened ?c))))
    :effect (and (right_of ?i ?t) (near ?i ?t) (hand_empty) (not (holding ?i)) (not (at_base))))

  (:action place_in_front_of
    :parameters (?i - item ?t - thing)
    :precondition (and (holding ?i) (reachable ?t) (not (= ?i ?t))
      (forall (?c - thing) (or (not (in ?t ?c)) (not (can_open ?c)) (opened ?c))))
    :effect (and (front_of ?i ?t) (near ?i ?t) (hand_empty) (not (holding ?i)) (not (at_base))))

  (:action place_behind
    :parameters (?i - item ?t - thing)
    :precondition (and (holding ?i) (reachable ?t) (not (= ?i ?t))
      (forall (?c - thing) (or (not (in ?t ?c)) (not (can_open ?c)) (opened ?c))))
    :effect (and (behind ?i ?t) (near ?i ?t) (hand_empty) (not (holding ?i)) (not (at_base))))

  (:action place_between)

  ; Along the counter, or lifted over what is in the way.
  (:action push_to_front_of
    :parameters (?i - item ?t - thing)
    :precondition (and (hand_empty) (clear ?i) (reachable ?i) (reachable ?t) (not (= ?i ?t))
      (forall (?c - thing) (not (in ?i ?c)))
      (forall (?v - thing) (or (not (on ?i ?v)) (not (covered ?v)))))
    :effect (and (front_of ?i ?t) (near ?i ?t) (not (at_base))
      (forall (?s - thing) (when (on ?i ?s) (and (not (on ?i ?s)) (clear ?s))))
      (forall (?l - location) (when (at ?i ?l) (not (at ?i ?l))))
      (forall (?o - thing) (and (not (left_of ?i ?o)) (not (right_of ?i ?o)) (not (behind ?i ?o))))
      (forall (?a - thing ?b - thing) (not (between ?i ?a ?b)))))

  (:action open
    :parameters (?x - thing)
    :precondition (and (hand_empty) (can_open ?x) (not (opened ?x)) (reachable ?x)
      (forall (?o - thing) (not (blocks ?o ?x))))
    :effect (and (opened ?x) (not (closed ?x)) (not (at_base))))

  (:action close
    :parameters (?x - thing)
    :precondition (and (hand_empty) (can_open ?x) (not (closed ?x)) (reachable ?x)
      (forall (?o - thing) (not (blocks ?o ?x))))
    :effect (and (closed ?x) (not (opened ?x)) (not (at_base))
      (forall (?y - thing) (not (blocks ?x ?y)))))

  (:action turn_on
    :parameters (?x - thing)
    :precondition (and (hand_empty) (can_turn ?x) (turned_off ?x) (reachable ?x))
    :effect (and (turned_on ?x) (not (turned_off ?x)) (not (at_base))))

  (:action turn_off
    :parameters (?x - thing)
    :precondition (and (hand_empty) (can_turn ?x) (turned_on ?x) (reachable ?x))
    :effect (and (turned_off ?x) (not (turned_on ?x)) (not (at_base))))

  ; With a camera that the hand carries: what hides it from the others is looked past.
  (:action look_at
    :parameters (?x - thing)
    :effect (not (at_base)))

  (:action hand_over)
  (:action return_to_base)
  (:action place_farther_left)
  (:action place_farther_right)
  (:action place_farther_to_front)
  (:action place_farther_to_back)
  (:action place_nearer_to)
  (:action place_farther_from))
