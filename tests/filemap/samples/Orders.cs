using System;
using System.Collections.Generic;

namespace Shop.Orders
{
    /// <summary>An order of a customer.</summary>
    [Serializable]
    public sealed partial class Order : IDisposable
    {
        private readonly List<string> _items = new(), _notes = new();
        public const int Limit = 10;
        public event EventHandler<string>? Changed;

        public Order(string id) : base() => Id = id;

        public string Id { get; init; }
        public int this[int index] => index;

        public async Task<int> AddAsync(string item, CancellationToken token = default)
        {
            int Local(int x) => x;
            return Local(await Task.FromResult(1));
        }

        public static Order operator +(Order a, Order b) => a;
        public static implicit operator string(Order o) => o.Id;

        ~Order() { }
        public void Dispose() { }

        private struct Line { public int Count; }
    }

    public enum State { Open, Paid = 3 }
    public delegate void Handler(Order order);
    public record Point(int X, int Y);

    internal interface IStore<T> where T : class
    {
        T? Find(string id);
    }
}
