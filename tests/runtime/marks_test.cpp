
#include <gtest/gtest.h>

#include "tests/small_graphs.h"
#include "vernier/activity.h"
#include "vernier/runtime/ort_runner.h"
#include "vernier/runtime/probes.h"

namespace vernier {
namespace {

// A process of its own is not needed to record: the page is this one's, too.
class Marks : public ::testing::Test {
 protected:
  Marks() {
    record_activity(activity_.page());
    activity_.page().records_nodes = true;
  }
  ~Marks() override { activity_.page().records_nodes = false; }

  // Shared by all tests: the process goes on to record in it.
  static SharedActivity activity_;
};
SharedActivity Marks::activity_;

TEST_F(Marks, change_no_result) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2}}).input("c", DType::boolean, {});
  builder.node("Neg", {"x"}, {"a"}).node("Abs", {"x"}, {"b"});
  builder.node("If", {"c"}, {"d"},
               {graph_attribute("then_branch", branch("Neg")),
                graph_attribute("else_branch", branch("Abs"))});
  builder.node("Sum", {"a", "b", "d"}, {"y"}).output("y");
  OrtRunner marked(builder.model());
  const Tensor x = tensor_of<float>("x", DType::f32, {2}, {-1, 3});
  const Tensor c = tensor_of<bool>("c", DType::boolean, {}, {true});
  const auto outputs = marked.run(std::vector{x, c});
  EXPECT_EQ(elements<float>(outputs[0].view())[0], 1 + 1 + 1);
  EXPECT_EQ(elements<float>(outputs[0].view())[1], -3 + 3 - 3);
}

TEST_F(Marks, stand_before_and_behind_every_node_in_its_order) {
  Model model = chain().model();
  insert_marks(model);
  std::vector<std::string> ops;
  for (const auto& node : model.graph().node()) ops.push_back(node.op_type());
  EXPECT_EQ(ops, (std::vector<std::string>{"Mark", "Neg", "Mark", "Mark", "Abs", "Mark", "Mark",
                                           "Relu", "Mark"}));
}

TEST_F(Marks, name_nodes_as_the_file_does) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2}}).node("Neg", {"x"}, {"y"}).output("y");
  Model model = builder.model();
  model.graph().mutable_node(0)->clear_name();
  insert_probes(model);
  insert_marks(model);
  EXPECT_EQ(model.graph().node(0).op_type(), "Mark");
  EXPECT_EQ(model.graph().node(0).attribute(0).s(), "Neg(y)");
}

}  // namespace
}  // namespace vernier
