# frozen_string_literal: true

require "set"

module Shop
  LIMIT = 10
  Point = Struct.new(:x, :y)

  # Keeps entries.
  class Ledger < Base
    include Comparable

    attr_accessor :name, :total
    attr_reader :id

    alias add push

    def self.open(path, mode: "r")
      new(path)
    end

    def initialize(path)
      @path = path
    end

    def <=>(other) = 0

    define_method(:size) { 3 }

    class << self
      def build; end
    end

    private

    def hidden?(a, *rest, &block)
      rest.each do |r|
        puts r
      end
    end
  end
end

RSpec.describe Shop::Ledger do
  context "when empty" do
    it "has no entries" do
    end
  end
end

def helper(x)
  x
end
