#include <string>
#include <vector>

namespace geo {

class Shape {
 public:
  Shape();
  virtual ~Shape() = default;
  virtual double area() const = 0;
  explicit operator bool() const { return true; }

 protected:
  std::string name_;
  static int count;
};

/// A circle.
template <typename T>
class Circle : public Shape {
 public:
  Circle(T radius) : radius_(radius) {}
  double area() const override;
  T& operator[](int i);

 private:
  T radius_;
  struct Cache { double area; };
};

Shape::Shape() : name_("shape") {}

template <typename T>
double Circle<T>::area() const {
  return 3.14 * radius_ * radius_;
}

enum class Color : int { Red, Green };

using Shapes = std::vector<Shape*>;

namespace {
int hidden(int a) { return a; }
}  // namespace

std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  return out;
}

template <typename T>
concept Drawable = requires(T t) { t.draw(); };

}  // namespace geo

void other::Scene::draw() {}

int main(int argc, char** argv) {
  auto f = [](int x) { return x; };
  return f(0);
}
