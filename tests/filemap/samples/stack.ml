open Printf

exception Empty of string

(** A stack of things. *)
type 'a t = { items : 'a list; mutable size : int }

and color = Red | Green of int

module type S = sig
  type elt
  val push : elt -> unit
end

module Make (E : S) = struct
  let create () = []
  let rec loop x = if x then loop x else helper x
  and helper x = x
end

let limit = 10

(* Adds one. *)
let push x stack = { stack with items = x :: stack.items }

let ( +: ) a b = a + b

class counter = object
  val mutable n = 0
  method incr = n <- n + 1
end

external now : unit -> float = "unix_now"

let () = printf "%d" limit
