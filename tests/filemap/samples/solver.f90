module solver
  use iso_fortran_env
  implicit none

  type :: grid_t
    integer :: n
    real, allocatable :: values(:)
  contains
    procedure :: size => grid_size
  end type grid_t

  interface solve
    module procedure solve_real
  end interface

contains

  subroutine solve_real(a, b)
    real, intent(in) :: a(:)
    real, intent(out) :: b(:)
    b = a
  end subroutine solve_real

  pure function grid_size(self) result(n)
    class(grid_t), intent(in) :: self
    integer :: n
    n = self%n
  end function grid_size

end module solver

program main
  use solver
  print *, "done"
end program main
