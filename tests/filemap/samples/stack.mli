(** What a stack can do. *)
type 'a t

exception Empty

val push : 'a -> 'a t -> 'a t
(** Adds one. *)

module type S = sig
  val pop : unit -> int
end

val ( +: ) : int -> int -> int
