module Grids

using LinearAlgebra
import Base: show

const LIMIT = 10

"A grid of cells."
struct Grid{T} <: AbstractGrid
    cells::Matrix{T}
end

abstract type Shape end

mutable struct Point
    x::Float64
    Point(x) = new(x)
end

"""
Area of it.
"""
function area(g::Grid{T})::Float64 where {T}
    helper(x) = x
    return length(g.cells)
end

width(g::Grid) = size(g.cells, 1)

Base.show(io::IO, g::Grid) = print(io, "grid")

macro twice(ex)
    quote $ex; $ex end
end

end
