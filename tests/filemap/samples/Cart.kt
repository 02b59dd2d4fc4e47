package shop

import kotlin.math.max

const val LIMIT = 10

typealias Prices = Map<String, Int>

/** Something to be paid. */
data class Item(val name: String, val price: Int = 0)

sealed interface State {
    object Open : State
    data class Paid(val at: Long) : State
}

enum class Size(val label: String) {
    SMALL("s"),
    LARGE("l");

    fun wide() = label == "l"
}

abstract class Cart<T : Any> @Inject constructor(private val store: Store) : Base() {
    private val items = mutableListOf<T>()
    var total: Int = 0
        private set

    constructor() : this(Store())

    // Adds one more.
    override suspend fun add(item: T): Boolean {
        return items.add(item)
    }

    companion object {
        fun empty() = null
    }
}

fun <T> List<T>.second(): T = this[1]

private fun hidden() {}
