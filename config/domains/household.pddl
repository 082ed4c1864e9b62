; A home and one person in it (VirtualHome). All 42 actions of its scripts, by their names in lower case.
; What PDDL cannot say (phrases, inverses, classes, VirtualHome's spellings and wording) stands in household.yaml.
;
; The person is no object: close_to, facing, agent_in, agent_on, worn and holds_* are the person's edges in
; VirtualHome's graph. "Near" is VirtualHome's loose rule: close to it, or to something that is next to it or under it.
; heated, cooked, toasted, washed, sliced, filled and used are no states of VirtualHome (ProgPrompt, Section IV.A);
; they come about by what machines that are on do to what is in or on them, and stay.
(define (domain household)
  (:requirements :strips :typing :negative-preconditions :disjunctive-preconditions :existential-preconditions
    :universal-preconditions :quantified-preconditions :equality :conditional-effects)

  (:types
    room item - object
    microwave cooker toaster brewer washer basin tap knife brush liquid - item)

  (:predicates
    ; where things are (INSIDE, ON, CLOSE, FACING, BETWEEN)
    (in_room ?o - item ?r - room)
    (inside ?o ?d - item)
    (on ?o ?d - item)
    (next_to ?o ?d - item)                ; both ways
    (faces ?o ?d - item)
    (between ?o - item ?r - room)         ; a door and the rooms that it joins
    ; the person
    (agent_in ?r - room)
    (agent_on ?o - item)                  ; sits or lies on it
    (close_to ?o)
    (facing ?o)
    (holds_rh ?o - item)
    (holds_lh ?o - item)
    (right_hand_free)
    (left_hand_free)
    (worn ?o - item)
    (carried ?o - item)                   ; held, worn, or in or on such a thing
    (sitting)
    (lying)
    (taken_from_top ?o ?d - item)         ; for putobjback: where it was when it was grabbed
    (taken_from_inside ?o ?d - item)
    (taken_in ?o - item ?r - room)
    ; states of things
    (opened ?o - item)
    (closed ?o - item)
    (switched_on ?o - item)
    (switched_off ?o - item)
    (plugged_in ?o - item)
    (plugged_out ?o - item)
    (clean ?o - item)
    (dirty ?o - item)
    (heated ?o - item)
    (cooked ?o - item)
    (toasted ?o - item)
    (washed ?o - item)
    (sliced ?o - item)
    (filled ?o - item)
    (used ?o - item)
    ; what was done with a thing, since the start
    (was_read ?o - item)
    (watched ?o - item)                   ; while it was on, where it can be
    (looked_at ?o)
    (pointed_at ?o)
    (touched ?o - item)
    (typed_on ?o - item)
    (pushed ?o - item)
    (pulled ?o - item)
    (squeezed ?o - item)
    (greeted ?o - item)
    (eaten ?o - item)
    (drunk ?o - item)
    (wiped ?o - item)
    (scrubbed ?o - item)
    (poured_into ?o ?d - item)
    (slept)
    (unseen ?o - item)                    ; its state is not known: it may be open or closed, on or off. Holds only in
                                          ; what a person knows of a home, never in the home itself
    ; properties, which never change
    (grabbable ?o - item)
    (can_open ?o - item)
    (container ?o - item)                 ; things can be put into it
    (surface ?o - item)                   ; made for putting things on; no action asks for it
    (has_switch ?o - item)
    (has_plug ?o - item)
    (sittable ?o - item)
    (lieable ?o - item)
    (narrow_seat ?o - item)               ; nobody can sit on it while something is on it
    (narrow_bed ?o - item)
    (drinkable ?o - item)
    (eatable ?o - item)
    (recipient ?o - item)                 ; can be poured into
    (pourable ?o - item)
    (cuttable ?o - item)
    (readable ?o - item)
    (lookable ?o - item)
    (movable ?o - item)
    (clothes ?o - item)
    (squeezable ?o - item)
    (typeable ?o - item)
    (person ?o - item)
    (body_part ?o - item))


  ; walk: go there; what is held, worn or carried comes along
  (:action walk
    :parameters (?o)
    :precondition (and
      (not (sitting))
      (not (lying)))
    :effect (and
      (forall (?x) (when (facing ?x) (not (facing ?x))))
      (forall (?x) (when (close_to ?x) (not (close_to ?x))))
      (forall (?r ?q - room) (when (and (in_room ?o ?r) (agent_in ?q)) (not (agent_in ?q))))
      (forall (?r ?q - room) (when (and (= ?o ?r) (agent_in ?q)) (not (agent_in ?q))))
      (forall (?r - room) (when (in_room ?o ?r) (agent_in ?r)))
      (forall (?r - room) (when (= ?o ?r) (agent_in ?r)))
      (forall (?x - item ?r ?q - room)
        (when (and (in_room ?o ?r) (carried ?x) (in_room ?x ?q)) (not (in_room ?x ?q))))
      (forall (?x - item ?r ?q - room)
        (when (and (= ?o ?r) (carried ?x) (in_room ?x ?q)) (not (in_room ?x ?q))))
      (forall (?x - item ?r - room) (when (and (in_room ?o ?r) (carried ?x)) (in_room ?x ?r)))
      (forall (?x - item ?r - room) (when (and (= ?o ?r) (carried ?x)) (in_room ?x ?r)))
      (forall (?x - item) (when (= ?o ?x) (close_to ?x)))
      (forall (?x - item) (when (holds_rh ?x) (close_to ?x)))
      (forall (?x - item) (when (holds_lh ?x) (close_to ?x)))
      (forall (?x - item) (when (worn ?x) (close_to ?x)))
      (forall (?x - item) (when (body_part ?x) (close_to ?x)))
      (forall (?x - item) (when (inside ?o ?x) (close_to ?x)))
      (forall (?x - item) (when (on ?o ?x) (close_to ?x)))
      (forall (?x - item) (when (and (can_open ?o) (inside ?x ?o)) (close_to ?x)))))

  (:action run
    :parameters (?o)
    :precondition (and
      (not (sitting))
      (not (lying)))
    :effect (and
      (forall (?x) (when (facing ?x) (not (facing ?x))))
      (forall (?x) (when (close_to ?x) (not (close_to ?x))))
      (forall (?r ?q - room) (when (and (in_room ?o ?r) (agent_in ?q)) (not (agent_in ?q))))
      (forall (?r ?q - room) (when (and (= ?o ?r) (agent_in ?q)) (not (agent_in ?q))))
      (forall (?r - room) (when (in_room ?o ?r) (agent_in ?r)))
      (forall (?r - room) (when (= ?o ?r) (agent_in ?r)))
      (forall (?x - item ?r ?q - room)
        (when (and (in_room ?o ?r) (carried ?x) (in_room ?x ?q)) (not (in_room ?x ?q))))
      (forall (?x - item ?r ?q - room)
        (when (and (= ?o ?r) (carried ?x) (in_room ?x ?q)) (not (in_room ?x ?q))))
      (forall (?x - item ?r - room) (when (and (in_room ?o ?r) (carried ?x)) (in_room ?x ?r)))
      (forall (?x - item ?r - room) (when (and (= ?o ?r) (carried ?x)) (in_room ?x ?r)))
      (forall (?x - item) (when (= ?o ?x) (close_to ?x)))
      (forall (?x - item) (when (holds_rh ?x) (close_to ?x)))
      (forall (?x - item) (when (holds_lh ?x) (close_to ?x)))
      (forall (?x - item) (when (worn ?x) (close_to ?x)))
      (forall (?x - item) (when (body_part ?x) (close_to ?x)))
      (forall (?x - item) (when (inside ?o ?x) (close_to ?x)))
      (forall (?x - item) (when (on ?o ?x) (close_to ?x)))
      (forall (?x - item) (when (and (can_open ?o) (inside ?x ?o)) (close_to ?x)))))

  ; find: go there unless it is near already
  (:action find
    :parameters (?o)
    :precondition (and
      (or (and (not (sitting)) (not (lying)))
        (or (close_to ?o) (exists (?c - item) (and (close_to ?c) (or (next_to ?c ?o) (on ?o ?c)))))))
    :effect (and
      (forall (?x) (when (facing ?x) (not (facing ?x))))
      (forall (?x) (when (and (not (or (close_to ?o)
        (exists (?c - item) (and (close_to ?c) (or (next_to ?c ?o) (on ?o ?c)))))) (close_to ?x))
          (not (close_to ?x))))
      (forall (?r ?q - room) (when (and (in_room ?o ?r) (agent_in ?q)) (not (agent_in ?q))))
      (forall (?r ?q - room) (when (and (= ?o ?r) (agent_in ?q)) (not (agent_in ?q))))
      (forall (?r - room) (when (in_room ?o ?r) (agent_in ?r)))
      (forall (?r - room) (when (= ?o ?r) (agent_in ?r)))
      (forall (?x - item ?r ?q - room)
        (when (and (in_room ?o ?r) (carried ?x) (in_room ?x ?q)) (not (in_room ?x ?q))))
      (forall (?x - item ?r ?q - room)
        (when (and (= ?o ?r) (carried ?x) (in_room ?x ?q)) (not (in_room ?x ?q))))
      (forall (?x - item ?r - room) (when (and (in_room ?o ?r) (carried ?x)) (in_room ?x ?r)))
      (forall (?x - item ?r - room) (when (and (= ?o ?r) (carried ?x)) (in_room ?x ?r)))
      (forall (?x - item) (when (= ?o ?x) (close_to ?x)))
      (forall (?x - item) (when (holds_rh ?x) (close_to ?x)))
      (forall (?x - item) (when (holds_lh ?x) (close_to ?x)))
      (forall (?x - item) (when (worn ?x) (close_to ?x)))
      (forall (?x - item) (when (body_part ?x) (close_to ?x)))
      (forall (?x - item) (when (and (not
        (or (close_to ?o) (exists (?c - item) (and (close_to ?c) (or (next_to ?c ?o) (on ?o ?c))))))
          (inside ?o ?x)) (close_to ?x)))
      (forall (?x - item) (when (and (not
        (or (close_to ?o) (exists (?c - item) (and (close_to ?c) (or (next_to ?c ?o) (on ?o ?c))))))
          (on ?o ?x)) (close_to ?x)))
      (forall (?x - item) (when (and (not
        (or (close_to ?o) (exists (?c - item) (and (close_to ?c) (or (next_to ?c ?o) (on ?o ?c))))))
          (can_open ?o) (inside ?x ?o)) (close_to ?x)))))

  (:action turnto
    :parameters (?o)
    :precondition (and)
    :effect (and
      (forall (?x) (when (facing ?x) (not (facing ?x))))
      (facing ?o)))

  (:action lookat
    :parameters (?o)
    :precondition (and
      (or (facing ?o) (exists (?f - item) (and (facing ?f) (faces ?f ?o)))))
    :effect (looked_at ?o))

  (:action pointat
    :parameters (?o)
    :precondition (and
      (or (facing ?o) (exists (?f - item) (and (facing ?f) (faces ?f ?o)))))
    :effect (pointed_at ?o))

  (:action watch
    :parameters (?o - item)
    :precondition (and
      (lookable ?o)
      (or (exists (?r - room) (and (agent_in ?r) (in_room ?o ?r))) (unseen ?o))
      (or (facing ?o) (exists (?f - item) (and (facing ?f) (faces ?f ?o))))
      (forall (?k - item) (not (and (closed ?k) (inside ?o ?k))))
      (forall (?k ?m - item) (not (and (closed ?k) (inside ?o ?m) (inside ?m ?k)))))
    :effect (when (or (switched_on ?o) (not (has_switch ?o))) (watched ?o)))

  (:action grab
    :parameters (?o - item)
    :precondition (and
      (grabbable ?o)
      (not (holds_rh ?o))
      (not (holds_lh ?o))
      (or (close_to ?o) (exists (?c - item) (and (close_to ?c) (or (next_to ?c ?o) (on ?o ?c)))))
      (forall (?k - item) (not (and (closed ?k) (inside ?o ?k))))
      (forall (?k ?m - item) (not (and (closed ?k) (inside ?o ?m) (inside ?m ?k))))
      (or (right_hand_free) (left_hand_free))
      (not (agent_on ?o)))
    :effect (and
      (when (right_hand_free) (and (holds_rh ?o) (not (right_hand_free))))
      (when (not (right_hand_free)) (and (holds_lh ?o) (not (left_hand_free))))
      (not (worn ?o))
      (close_to ?o)
      (forall (?d - item) (when (on ?o ?d) (and (not (on ?o ?d)) (taken_from_top ?o ?d) (close_to ?d))))
      (forall (?d - item) (when (inside ?o ?d)
        (and (not (inside ?o ?d)) (taken_from_inside ?o ?d) (close_to ?d))))
      (forall (?d - item) (when (next_to ?o ?d) (and (not (next_to ?o ?d)) (not (next_to ?d ?o)))))
      (forall (?r - room) (when (in_room ?o ?r) (taken_in ?o ?r)))
      (carried ?o)
      (forall (?x - item) (when (on ?x ?o) (carried ?x)))
      (forall (?x - item) (when (inside ?x ?o) (carried ?x)))
      (forall (?x ?y - item) (when (and (inside ?y ?o) (on ?x ?y)) (carried ?x)))
      (forall (?x ?y - item) (when (and (on ?y ?o) (on ?x ?y)) (carried ?x)))
      (forall (?x ?y - item) (when (and (inside ?y ?o) (inside ?x ?y)) (carried ?x)))
      (forall (?x ?y - item) (when (and (on ?y ?o) (inside ?x ?y)) (carried ?x)))))

  (:action putback
    :parameters (?o ?d - item)
    :precondition (and
      (or (holds_rh ?o) (holds_lh ?o))
      (not (= ?o ?d))
      (or (close_to ?d) (exists (?c - item) (and (close_to ?c) (or (next_to ?c ?d) (on ?d ?c)))))
      (not (on ?d ?o))
      (not (inside ?d ?o)))
    :effect (and
      (on ?o ?d)
      (next_to ?o ?d)
      (next_to ?d ?o)
      (close_to ?d)
      (when (holds_rh ?o) (and (not (holds_rh ?o)) (right_hand_free)))
      (when (holds_lh ?o) (and (not (holds_lh ?o)) (left_hand_free)))
      (forall (?x - item) (when (taken_from_top ?o ?x) (not (taken_from_top ?o ?x))))
      (forall (?x - item) (when (taken_from_inside ?o ?x) (not (taken_from_inside ?o ?x))))
      (forall (?r - room) (when (taken_in ?o ?r) (not (taken_in ?o ?r))))
      (when (not (carried ?d)) (not (carried ?o)))
      (forall (?x - item) (when (and (not (carried ?d)) (on ?x ?o)) (not (carried ?x))))
      (forall (?x - item) (when (and (not (carried ?d)) (inside ?x ?o)) (not (carried ?x))))
      (forall (?x ?y - item) (when (and (not (carried ?d)) (inside ?y ?o) (on ?x ?y))
        (not (carried ?x))))
      (forall (?x ?y - item) (when (and (not (carried ?d)) (on ?y ?o) (on ?x ?y)) (not (carried ?x))))
      (forall (?x ?y - item) (when (and (not (carried ?d)) (inside ?y ?o) (inside ?x ?y))
        (not (carried ?x))))
      (forall (?x ?y - item) (when (and (not (carried ?d)) (on ?y ?o) (inside ?x ?y))
        (not (carried ?x))))
      (forall (?b - brush) (when (and (= ?b ?d) (pourable ?o)) (and (used ?b) (used ?o))))
      (forall (?m - cooker) (when (and (= ?m ?d) (switched_on ?m)) (and (heated ?o) (cooked ?o))))
      (forall (?m - cooker ?x - item)
        (when (and (= ?m ?d) (switched_on ?m) (on ?x ?o)) (and (heated ?x) (cooked ?x))))
      (forall (?m - cooker ?x - item)
        (when (and (= ?m ?d) (switched_on ?m) (inside ?x ?o)) (and (heated ?x) (cooked ?x))))
      (forall (?m - toaster) (when (and (= ?m ?d) (switched_on ?m)) (toasted ?o)))
      (forall (?m - cooker) (when (and (on ?d ?m) (switched_on ?m)) (and (heated ?o) (cooked ?o))))
      (forall (?m - cooker) (when (and (inside ?d ?m) (switched_on ?m)) (and (heated ?o) (cooked ?o))))
      (forall (?m - brewer) (when (and (= ?m ?d) (switched_on ?m) (recipient ?o)) (filled ?o)))
      (forall (?b - basin ?f - tap) (when (and (= ?b ?d) (next_to ?b ?f) (switched_on ?f))
        (and (washed ?o) (clean ?o) (not (dirty ?o)))))))

  (:action putin
    :parameters (?o ?d - item)
    :precondition (and
      (or (holds_rh ?o) (holds_lh ?o))
      (not (= ?o ?d))
      (or (close_to ?d) (exists (?c - item) (and (close_to ?c) (or (next_to ?c ?d) (on ?d ?c)))))
      (container ?d)
      (or (opened ?d) (not (can_open ?d)))
      (not (on ?d ?o))
      (not (inside ?d ?o)))
    :effect (and
      (inside ?o ?d)
      (next_to ?o ?d)
      (next_to ?d ?o)
      (close_to ?d)
      (when (holds_rh ?o) (and (not (holds_rh ?o)) (right_hand_free)))
      (when (holds_lh ?o) (and (not (holds_lh ?o)) (left_hand_free)))
      (forall (?x - item) (when (taken_from_top ?o ?x) (not (taken_from_top ?o ?x))))
      (forall (?x - item) (when (taken_from_inside ?o ?x) (not (taken_from_inside ?o ?x))))
      (forall (?r - room) (when (taken_in ?o ?r) (not (taken_in ?o ?r))))
      (when (not (carried ?d)) (not (carried ?o)))
      (forall (?x - item) (when (and (not (carried ?d)) (on ?x ?o)) (not (carried ?x))))
      (forall (?x - item) (when (and (not (carried ?d)) (inside ?x ?o)) (not (carried ?x))))
      (forall (?x ?y - item) (when (and (not (carried ?d)) (inside ?y ?o) (on ?x ?y))
        (not (carried ?x))))
      (forall (?x ?y - item) (when (and (not (carried ?d)) (on ?y ?o) (on ?x ?y)) (not (carried ?x))))
      (forall (?x ?y - item) (when (and (not (carried ?d)) (inside ?y ?o) (inside ?x ?y))
        (not (carried ?x))))
      (forall (?x ?y - item) (when (and (not (carried ?d)) (on ?y ?o) (inside ?x ?y))
        (not (carried ?x))))
      (forall (?m - microwave) (when (and (= ?m ?d) (switched_on ?m)) (heated ?o)))
      (forall (?m - microwave ?x - item) (when (and (= ?m ?d) (switched_on ?m) (on ?x ?o)) (heated ?x)))
      (forall (?m - microwave ?x - item)
        (when (and (= ?m ?d) (switched_on ?m) (inside ?x ?o)) (heated ?x)))
      (forall (?m - cooker) (when (and (= ?m ?d) (switched_on ?m)) (and (heated ?o) (cooked ?o))))
      (forall (?m - cooker ?x - item)
        (when (and (= ?m ?d) (switched_on ?m) (on ?x ?o)) (and (heated ?x) (cooked ?x))))
      (forall (?m - cooker ?x - item)
        (when (and (= ?m ?d) (switched_on ?m) (inside ?x ?o)) (and (heated ?x) (cooked ?x))))
      (forall (?m - toaster) (when (and (= ?m ?d) (switched_on ?m)) (toasted ?o)))
      (forall (?m - washer) (when (and (= ?m ?d) (switched_on ?m))
        (and (washed ?o) (clean ?o) (not (dirty ?o)))))
      (forall (?m - cooker) (when (and (on ?d ?m) (switched_on ?m)) (and (heated ?o) (cooked ?o))))
      (forall (?m - cooker) (when (and (inside ?d ?m) (switched_on ?m)) (and (heated ?o) (cooked ?o))))
      (forall (?m - brewer) (when (and (= ?m ?d) (switched_on ?m) (recipient ?o)) (filled ?o)))
      (forall (?b - basin ?f - tap) (when (and (= ?b ?d) (next_to ?b ?f) (switched_on ?f))
        (and (washed ?o) (clean ?o) (not (dirty ?o)))))))

  (:action putobjback
    :parameters (?o - item)
    :precondition (and
      (or (holds_rh ?o) (holds_lh ?o))
      (exists (?r - room) (taken_in ?o ?r))
      (forall (?d - item) (or (or (close_to ?d)
        (exists (?c - item) (and (close_to ?c) (or (next_to ?c ?d) (on ?d ?c)))))
          (not (taken_from_top ?o ?d))))
      (forall (?d - item) (or (or (close_to ?d)
        (exists (?c - item) (and (close_to ?c) (or (next_to ?c ?d) (on ?d ?c)))))
          (not (taken_from_inside ?o ?d))))
      (forall (?d - item) (or (opened ?d) (not (can_open ?d)) (not (taken_from_inside ?o ?d))))
      (forall (?r - room) (or (agent_in ?r) (not (taken_in ?o ?r)))))
    :effect (and
      (forall (?d - item) (when (taken_from_top ?o ?d)
        (and (on ?o ?d) (next_to ?o ?d) (next_to ?d ?o) (close_to ?d))))
      (forall (?d - item) (when (taken_from_inside ?o ?d)
        (and (inside ?o ?d) (next_to ?o ?d) (next_to ?d ?o) (close_to ?d))))
      (when (holds_rh ?o) (and (not (holds_rh ?o)) (right_hand_free)))
      (when (holds_lh ?o) (and (not (holds_lh ?o)) (left_hand_free)))
      (forall (?x - item) (when (taken_from_top ?o ?x) (not (taken_from_top ?o ?x))))
      (forall (?x - item) (when (taken_from_inside ?o ?x) (not (taken_from_inside ?o ?x))))
      (forall (?r - room) (when (taken_in ?o ?r) (not (taken_in ?o ?r))))
      (not (carried ?o))
      (forall (?x - item) (when (on ?x ?o) (not (carried ?x))))
      (forall (?x - item) (when (inside ?x ?o) (not (carried ?x))))
      (forall (?x ?y - item) (when (and (inside ?y ?o) (on ?x ?y)) (not (carried ?x))))
      (forall (?x ?y - item) (when (and (on ?y ?o) (on ?x ?y)) (not (carried ?x))))
      (forall (?x ?y - item) (when (and (inside ?y ?o) (inside ?x ?y)) (not (carried ?x))))
      (forall (?x ?y - item) (when (and (on ?y ?o) (inside ?x ?y)) (not (carried ?x))))))

  (:action drop
    :parameters (?o - item)
    :precondition (and
      (or (holds_rh ?o) (holds_lh ?o)))
    :effect (and
      (when (holds_rh ?o) (and (not (holds_rh ?o)) (right_hand_free)))
      (when (holds_lh ?o) (and (not (holds_lh ?o)) (left_hand_free)))
      (forall (?x - item) (when (taken_from_top ?o ?x) (not (taken_from_top ?o ?x))))
      (forall (?x - item) (when (taken_from_inside ?o ?x) (not (taken_from_inside ?o ?x))))
      (forall (?r - room) (when (taken_in ?o ?r) (not (taken_in ?o ?r))))
      (not (carried ?o))
      (forall (?x - item) (when (on ?x ?o) (not (carried ?x))))
      (forall (?x - item) (when (inside ?x ?o) (not (carried ?x))))
      (forall (?x ?y - item) (when (and (inside ?y ?o) (on ?x ?y)) (not (carried ?x))))
      (forall (?x ?y - item) (when (and (on ?y ?o) (on ?x ?y)) (not (carried ?x))))
      (forall (?x ?y - item) (when (and (inside ?y ?o) (inside ?x ?y)) (not (carried ?x))))
      (forall (?x ?y - item) (when (and (on ?y ?o) (inside ?x ?y)) (not (carried ?x))))))

  (:action release
    :parameters (?o - item)
    :precondition (and
      (or (holds_rh ?o) (holds_lh ?o)))
    :effect (and
      (when (holds_rh ?o) (and (not (holds_rh ?o)) (right_hand_free)))
      (when (holds_lh ?o) (and (not (holds_lh ?o)) (left_hand_free)))
      (forall (?x - item) (when (taken_from_top ?o ?x) (not (taken_from_top ?o ?x))))
      (forall (?x - item) (when (taken_from_inside ?o ?x) (not (taken_from_inside ?o ?x))))
      (forall (?r - room) (when (taken_in ?o ?r) (not (taken_in ?o ?r))))
      (not (carried ?o))
      (forall (?x - item) (when (on ?x ?o) (not (carried ?x))))
      (forall (?x - item) (when (inside ?x ?o) (not (carried ?x))))
      (forall (?x ?y - item) (when (and (inside ?y ?o) (on ?x ?y)) (not (carried ?x))))
      (forall (?x ?y - item) (when (and (on ?y ?o) (on ?x ?y)) (not (carried ?x))))
      (forall (?x ?y - item) (when (and (inside ?y ?o) (inside ?x ?y)) (not (carried ?x))))
      (forall (?x ?y - item) (when (and (on ?y ?o) (inside ?x ?y)) (not (carried ?x))))))

  (:action open
    :parameters (?o - item)
    :precondition (and
      (can_open ?o)
      (or (close_to ?o) (exists (?c - item) (and (close_to ?c) (or (next_to ?c ?o) (on ?o ?c)))))
      (or (right_hand_free) (left_hand_free))
      (or (closed ?o) (unseen ?o))
      (not (switched_on ?o)))
    :effect (and
      (opened ?o)
      (not (closed ?o))))

  (:action close
    :parameters (?o - item)
    :precondition (and
      (can_open ?o)
      (or (close_to ?o) (exists (?c - item) (and (close_to ?c) (or (next_to ?c ?o) (on ?o ?c)))))
      (or (opened ?o) (unseen ?o)))
    :effect (and
      (closed ?o)
      (not (opened ?o))))

  (:action switchon
    :parameters (?o - item)
    :precondition (and
      (has_switch ?o)
      (or (close_to ?o) (exists (?c - item) (and (close_to ?c) (or (next_to ?c ?o) (on ?o ?c)))))
      (or (switched_off ?o) (unseen ?o))
      (not (plugged_out ?o)))
    :effect (and
      (switched_on ?o)
      (not (switched_off ?o))
      (forall (?m - microwave ?x - item) (when (and (= ?m ?o) (inside ?x ?m)) (heated ?x)))
      (forall (?m - microwave ?x ?y - item)
        (when (and (= ?m ?o) (inside ?y ?m) (inside ?x ?y)) (heated ?x)))
      (forall (?m - microwave ?x ?y - item)
        (when (and (= ?m ?o) (inside ?y ?m) (on ?x ?y)) (heated ?x)))
      (forall (?m - cooker ?x - item) (when (and (= ?m ?o) (on ?x ?m)) (and (heated ?x) (cooked ?x))))
      (forall (?m - cooker ?x ?y - item)
        (when (and (= ?m ?o) (on ?y ?m) (inside ?x ?y)) (and (heated ?x) (cooked ?x))))
      (forall (?m - cooker ?x ?y - item)
        (when (and (= ?m ?o) (on ?y ?m) (on ?x ?y)) (and (heated ?x) (cooked ?x))))
      (forall (?m - cooker ?x - item)
        (when (and (= ?m ?o) (inside ?x ?m)) (and (heated ?x) (cooked ?x))))
      (forall (?m - cooker ?x ?y - item)
        (when (and (= ?m ?o) (inside ?y ?m) (inside ?x ?y)) (and (heated ?x) (cooked ?x))))
      (forall (?m - cooker ?x ?y - item)
        (when (and (= ?m ?o) (inside ?y ?m) (on ?x ?y)) (and (heated ?x) (cooked ?x))))
      (forall (?m - toaster ?x - item) (when (and (= ?m ?o) (on ?x ?m)) (toasted ?x)))
      (forall (?m - toaster ?x - item) (when (and (= ?m ?o) (inside ?x ?m)) (toasted ?x)))
      (forall (?m - washer ?x - item)
        (when (and (= ?m ?o) (on ?x ?m)) (and (washed ?x) (clean ?x) (not (dirty ?x)))))
      (forall (?m - washer ?x ?y - item)
        (when (and (= ?m ?o) (on ?y ?m) (inside ?x ?y)) (and (washed ?x) (clean ?x) (not (dirty ?x)))))
      (forall (?m - washer ?x ?y - item)
        (when (and (= ?m ?o) (on ?y ?m) (on ?x ?y)) (and (washed ?x) (clean ?x) (not (dirty ?x)))))
      (forall (?m - washer ?x - item)
        (when (and (= ?m ?o) (inside ?x ?m)) (and (washed ?x) (clean ?x) (not (dirty ?x)))))
      (forall (?m - washer ?x ?y - item)
        (when (and (= ?m ?o) (inside ?y ?m) (inside ?x ?y))
          (and (washed ?x) (clean ?x) (not (dirty ?x)))))
      (forall (?m - washer ?x ?y - item)
        (when (and (= ?m ?o) (inside ?y ?m) (on ?x ?y)) (and (washed ?x) (clean ?x) (not (dirty ?x)))))
      (forall (?m - brewer ?x - item) (when (and (= ?m ?o) (inside ?x ?m) (recipient ?x)) (filled ?x)))
      (forall (?m - brewer ?x - item) (when (and (= ?m ?o) (on ?x ?m) (recipient ?x)) (filled ?x)))
      (forall (?m - tap ?b - basin ?x - item)
        (when (and (= ?m ?o) (next_to ?m ?b) (inside ?x ?b))
          (and (washed ?x) (clean ?x) (not (dirty ?x)))))
      (forall (?m - tap ?b - basin ?x - item)
        (when (and (= ?m ?o) (next_to ?m ?b) (on ?x ?b)) (and (washed ?x) (clean ?x) (not (dirty ?x)))))))

  (:action switchoff
    :parameters (?o - item)
    :precondition (and
      (has_switch ?o)
      (or (close_to ?o) (exists (?c - item) (and (close_to ?c) (or (next_to ?c ?o) (on ?o ?c)))))
      (or (switched_on ?o) (unseen ?o)))
    :effect (and
      (switched_off ?o)
      (not (switched_on ?o))))

  (:action plugin
    :parameters (?o - item)
    :precondition (and
      (has_plug ?o)
      (or (close_to ?o) (exists (?c - item) (and (close_to ?c) (or (next_to ?c ?o) (on ?o ?c)))))
      (or (right_hand_free) (left_hand_free))
      (or (plugged_out ?o) (unseen ?o)))
    :effect (and
      (plugged_in ?o)
      (not (plugged_out ?o))))

  (:action plugout
    :parameters (?o - item)
    :precondition (and
      (has_plug ?o)
      (or (close_to ?o) (exists (?c - item) (and (close_to ?c) (or (next_to ?c ?o) (on ?o ?c)))))
      (or (right_hand_free) (left_hand_free))
      (or (plugged_in ?o) (unseen ?o))
      (not (switched_on ?o)))
    :effect (and
      (plugged_out ?o)
      (not (plugged_in ?o))))

  (:action sit
    :parameters (?o - item)
    :precondition (and
      (or (close_to ?o) (exists (?c - item) (and (close_to ?c) (or (next_to ?c ?o) (on ?o ?c)))))
      (not (sitting))
      (sittable ?o)
      (forall (?x - item) (or (not (on ?x ?o)) (not (narrow_seat ?o)))))
    :effect (and
      (sitting)
      (not (lying))
      (forall (?x - item) (when (agent_on ?x) (not (agent_on ?x))))
      (agent_on ?o)
      (forall (?x - item) (when (faces ?o ?x) (facing ?x)))))

  (:action lie
    :parameters (?o - item)
    :precondition (and
      (or (close_to ?o) (exists (?c - item) (and (close_to ?c) (or (next_to ?c ?o) (on ?o ?c)))))
      (not (lying))
      (lieable ?o)
      (forall (?x - item) (or (not (on ?x ?o)) (not (narrow_bed ?o)))))
    :effect (and
      (lying)
      (not (sitting))
      (forall (?x - item) (when (agent_on ?x) (not (agent_on ?x))))
      (agent_on ?o)))

  (:action standup
    :parameters ()
    :precondition (and
      (or (sitting) (lying)))
    :effect (and
      (not (sitting))
      (not (lying))
      (forall (?x - item) (when (agent_on ?x) (not (agent_on ?x))))))

  (:action sleep
    :parameters ()
    :precondition (and
      (or (lying) (sitting)))
    :effect (slept))

  (:action wakeup
    :parameters ()
    :precondition (and
      (or (lying) (sitting)))
    :effect (and))

  (:action wash
    :parameters (?o - item)
    :precondition (and
      (or (close_to ?o) (exists (?c - item) (and (close_to ?c) (or (next_to ?c ?o) (on ?o ?c))))))
    :effect (and
      (clean ?o)
      (not (dirty ?o))
      (forall (?b - basin ?f - tap) (when (and (close_to ?b) (next_to ?b ?f) (switched_on ?f))
        (washed ?o)))
      (forall (?f - tap) (when (and (close_to ?f) (switched_on ?f)) (washed ?o)))))

  (:action rinse
    :parameters (?o - item)
    :precondition (and
      (or (close_to ?o) (exists (?c - item) (and (close_to ?c) (or (next_to ?c ?o) (on ?o ?c))))))
    :effect (and
      (clean ?o)
      (not (dirty ?o))
      (forall (?b - basin ?f - tap) (when (and (close_to ?b) (next_to ?b ?f) (switched_on ?f))
        (washed ?o)))
      (forall (?f - tap) (when (and (close_to ?f) (switched_on ?f)) (washed ?o)))))

  (:action scrub
    :parameters (?o - item)
    :precondition (and
      (or (close_to ?o) (exists (?c - item) (and (close_to ?c) (or (next_to ?c ?o) (on ?o ?c))))))
    :effect (and
      (clean ?o)
      (scrubbed ?o)
      (not (dirty ?o))
      (forall (?b - basin ?f - tap) (when (and (close_to ?b) (next_to ?b ?f) (switched_on ?f))
        (washed ?o)))
      (forall (?f - tap) (when (and (close_to ?f) (switched_on ?f)) (washed ?o)))
      (forall (?b - brush) (when (holds_rh ?b) (used ?b)))
      (forall (?b - brush) (when (holds_lh ?b) (used ?b)))))

  (:action wipe
    :parameters (?o - item)
    :precondition (and
      (or (close_to ?o) (exists (?c - item) (and (close_to ?c) (or (next_to ?c ?o) (on ?o ?c)))))
      (or (not (right_hand_free)) (not (left_hand_free))))
    :effect (and
      (clean ?o)
      (wiped ?o)
      (not (dirty ?o))
      (forall (?t - item) (when (holds_rh ?t) (used ?t)))
      (forall (?t - item) (when (holds_lh ?t) (used ?t)))))

  (:action pour
    :parameters (?o ?d - item)
    :precondition (and
      (or (pourable ?o) (drinkable ?o))
      (recipient ?d)
      (or (holds_rh ?o) (holds_lh ?o))
      (not (= ?o ?d))
      (or (close_to ?d) (exists (?c - item) (and (close_to ?c) (or (next_to ?c ?d) (on ?d ?c))))))
    :effect (and
      (inside ?o ?d)
      (filled ?d)
      (poured_into ?o ?d)
      (used ?o)
      (forall (?b - brush) (when (= ?b ?d) (used ?b)))
      (forall (?w - liquid) (when (and (= ?w ?o) (holds_rh ?w))
        (and (not (holds_rh ?w)) (right_hand_free))))
      (forall (?w - liquid) (when (and (= ?w ?o) (holds_lh ?w))
        (and (not (holds_lh ?w)) (left_hand_free))))
      (forall (?w - liquid) (when (and (= ?w ?o) (not (carried ?d))) (not (carried ?w))))))

  (:action cut
    :parameters (?o - item)
    :precondition (and
      (or (right_hand_free) (left_hand_free))
      (or (close_to ?o) (exists (?c - item) (and (close_to ?c) (or (next_to ?c ?o) (on ?o ?c)))))
      (eatable ?o)
      (cuttable ?o)
      (exists (?k - knife) (or (holds_rh ?k) (holds_lh ?k))))
    :effect (and
      (sliced ?o)))

  (:action eat
    :parameters (?o - item)
    :precondition (and
      (or (close_to ?o) (exists (?c - item) (and (close_to ?c) (or (next_to ?c ?o) (on ?o ?c)))))
      (or (eatable ?o) (exists (?x - item) (and (on ?x ?o) (eatable ?x)))))
    :effect (and
      (used ?o)
      (eaten ?o)))

  (:action drink
    :parameters (?o - item)
    :precondition (and
      (or (drinkable ?o) (recipient ?o))
      (or (holds_rh ?o) (holds_lh ?o)))
    :effect (and
      (when (drinkable ?o) (and (used ?o) (drunk ?o)))
      (when (filled ?o) (and (used ?o) (drunk ?o)))))

  (:action read
    :parameters (?o - item)
    :precondition (and
      (readable ?o)
      (or (holds_rh ?o) (holds_lh ?o)))
    :effect (was_read ?o))

  (:action touch
    :parameters (?o - item)
    :precondition (and
      (or (close_to ?o) (exists (?c - item) (and (close_to ?c) (or (next_to ?c ?o) (on ?o ?c)))))
      (forall (?k - item) (not (and (closed ?k) (inside ?o ?k))))
      (forall (?k ?m - item) (not (and (closed ?k) (inside ?o ?m) (inside ?m ?k)))))
    :effect (touched ?o))

  (:action type
    :parameters (?o - item)
    :precondition (and
      (or (close_to ?o) (exists (?c - item) (and (close_to ?c) (or (next_to ?c ?o) (on ?o ?c)))))
      (or (has_switch ?o) (typeable ?o)))
    :effect (typed_on ?o))

  (:action push
    :parameters (?o - item)
    :precondition (and
      (or (close_to ?o) (exists (?c - item) (and (close_to ?c) (or (next_to ?c ?o) (on ?o ?c)))))
      (forall (?k - item) (not (and (closed ?k) (inside ?o ?k))))
      (forall (?k ?m - item) (not (and (closed ?k) (inside ?o ?m) (inside ?m ?k))))
      (or (right_hand_free) (left_hand_free)))
    :effect (pushed ?o))

  (:action pull
    :parameters (?o - item)
    :precondition (and
      (movable ?o)
      (or (close_to ?o) (exists (?c - item) (and (close_to ?c) (or (next_to ?c ?o) (on ?o ?c)))))
      (forall (?k - item) (not (and (closed ?k) (inside ?o ?k))))
      (forall (?k ?m - item) (not (and (closed ?k) (inside ?o ?m) (inside ?m ?k))))
      (or (right_hand_free) (left_hand_free)))
    :effect (pulled ?o))

  (:action move
    :parameters (?o - item)
    :precondition (and
      (movable ?o)
      (or (close_to ?o) (exists (?c - item) (and (close_to ?c) (or (next_to ?c ?o) (on ?o ?c)))))
      (forall (?k - item) (not (and (closed ?k) (inside ?o ?k))))
      (forall (?k ?m - item) (not (and (closed ?k) (inside ?o ?m) (inside ?m ?k))))
      (or (right_hand_free) (left_hand_free)))
    :effect (and))

  (:action squeeze
    :parameters (?o - item)
    :precondition (and
      (or (right_hand_free) (left_hand_free))
      (or (close_to ?o) (exists (?c - item) (and (close_to ?c) (or (next_to ?c ?o) (on ?o ?c)))))
      (squeezable ?o))
    :effect (squeezed ?o))

  (:action greet
    :parameters (?o - item)
    :precondition (and
      (person ?o))
    :effect (greeted ?o))

  (:action puton
    :parameters (?o - item)
    :precondition (and
      (or (holds_rh ?o) (holds_lh ?o))
      (clothes ?o))
    :effect (and
      (worn ?o)
      (when (holds_rh ?o) (and (not (holds_rh ?o)) (right_hand_free)))
      (when (holds_lh ?o) (and (not (holds_lh ?o)) (left_hand_free)))
      (forall (?x - item) (when (taken_from_top ?o ?x) (not (taken_from_top ?o ?x))))
      (forall (?x - item) (when (taken_from_inside ?o ?x) (not (taken_from_inside ?o ?x))))
      (forall (?r - room) (when (taken_in ?o ?r) (not (taken_in ?o ?r))))))

  (:action putoff
    :parameters (?o - item)
    :precondition (and
      (worn ?o)
      (clothes ?o))
    :effect (and
      (not (worn ?o))
      (close_to ?o)
      (not (carried ?o))
      (forall (?x - item) (when (on ?x ?o) (not (carried ?x))))
      (forall (?x - item) (when (inside ?x ?o) (not (carried ?x))))
      (forall (?x ?y - item) (when (and (inside ?y ?o) (on ?x ?y)) (not (carried ?x))))
      (forall (?x ?y - item) (when (and (on ?y ?o) (on ?x ?y)) (not (carried ?x))))
      (forall (?x ?y - item) (when (and (inside ?y ?o) (inside ?x ?y)) (not (carried ?x))))
      (forall (?x ?y - item) (when (and (on ?y ?o) (inside ?x ?y)) (not (carried ?x))))))

)
