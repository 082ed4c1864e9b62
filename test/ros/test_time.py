"""Simulated time is what stamps are made of; what watches and repeats counts wall time."""


def test_timers_go_on_while_the_simulated_clock_stands(make_node, spin_until):
    from rclpy.parameter import Parameter

    from planweave_ros.guarded import GuardedNode

    node = make_node(GuardedNode, "watcher", parameter_overrides=[Parameter("use_sim_time", value=True)])
    ticks = []
    node.create_timer(0.01, lambda: ticks.append(node.get_clock().now().nanoseconds))
    spin_until(lambda: len(ticks) > 2, 5, "a timer of a node whose /clock nobody publishes")
    assert set(ticks) == {0}
