import 'dart:async';

const limit = 10;
final List<String> names = [];

typedef Visit = void Function(int item);

/// What is bought.
abstract class Basket<T> extends Base with Logging implements Closeable {
  final String name;
  static int count = 0;

  Basket(this.name);
  Basket.empty() : name = '' {
    count++;
  }
  factory Basket.from(Map json) => Small(json['name']);

  /// Adds one.
  @override
  Future<void> add(T item, {int times = 1}) async {
    if (times > 1) {
      print('}');
    }
  }

  int get size => 0;
  set size(int value) {}
  bool operator ==(Object other) => true;
  void close();
}

mixin Logging on Base {
  void log(String text) => print(text);
}

enum State { open, paid }

extension Words on String {
  bool get isBlank => trim().isEmpty;
}

void main() {
  int inner(int x) => x;
  inner(1);
}
