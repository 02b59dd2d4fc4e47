defmodule Shop.Cart do
  @moduledoc """
  Keeps what is bought.
  """
  use GenServer
  alias Shop.Item

  defstruct items: [], total: 0

  @type t :: %__MODULE__{}

  # Starts it.
  def start_link(opts \\ []) do
    GenServer.start_link(__MODULE__, opts)
  end

  def add(cart, nil), do: cart

  def add(%{items: items} = cart, item) when is_map(item) do
    fun = fn x -> x end
    %{cart | items: [fun.(item) | items]}
  end

  def add(cart, item, count), do: {cart, item, count}

  defp total(cart), do: cart.total

  def a <~> b, do: {a, b}

  defmacro log(message) do
    quote do: IO.puts(unquote(message))
  end

  defguard is_small(x) when x < 10

  defmodule Error do
    defexception [:message]
  end
end

defprotocol Priced do
  def price(thing)
end

defimpl Priced, for: Shop.Item do
  def price(item), do: item.price
end

defmodule Shop.CartTest do
  describe "adding" do
    test "one item" do
      assert true
    end
  end
end
