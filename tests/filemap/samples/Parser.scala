package shop.parse

import scala.collection.mutable

/** What can be parsed. */
sealed trait Expr {
  def eval(env: Map[String, Int]): Int
}

case class Num(value: Int) extends Expr {
  override def eval(env: Map[String, Int]): Int = value
}

object Parser {
  val Limit = 10
  var count, errors = 0
  lazy val empty: Expr = Num(0)
  type Result = Either[String, Expr]

  def parse(text: String): Result = {
    def skip(n: Int): Int = n
    Right(empty)
  }

  private def next[A](items: List[A])(implicit ord: Ordering[A]): A = items.head
}

enum Color {
  case Red, Green
  case Mixed(a: Int)
}

extension (s: String)
  def shout: String = s.toUpperCase

given Ordering[Num] with
  def compare(a: Num, b: Num): Int = 0
