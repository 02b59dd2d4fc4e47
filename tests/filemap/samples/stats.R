library(stats)

LIMIT <- 10

# Mean of what is there.
safe_mean <- function(x, ...) {
  inner <- function(y) y
  mean(inner(x), na.rm = TRUE)
}

assign_right = function(a, b = 2) a + b

Account <- R6Class("Account",
  public = list(
    add = function(amount) {
      invisible(self)
    }
  )
)

setClass("Person", representation(name = "character"))
setGeneric("speak", function(x) standardGeneric("speak"))
setMethod("speak", "Person", function(x) {
  cat(x@name)
})

result <- safe_mean(c(1, 2))
