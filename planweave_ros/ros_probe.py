"""One service call between two nodes through the interfaces, in a separate process. Prints the milliseconds."""

import os
import threading
import time


def main() -> None:
    """Call CancelTask on a node of this process; ends with an error where no answer comes in five seconds."""
    import rclpy
    from planweave_interfaces.srv import CancelTask
    from rclpy.executors import SingleThreadedExecutor

    from planweave_ros.spin import spun

    rclpy.init()
    node = rclpy.create_node(f"planweave_doctor_{os.getpid()}")
    name = f"/planweave_doctor_{os.getpid()}/ask"

    def answer(request: CancelTask.Request, response: CancelTask.Response) -> CancelTask.Response:
        response.message = request.task_id
        return response

    node.create_service(CancelTask, name, answer)
    client = node.create_client(CancelTask, name)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    try:
        with spun(executor):
            if not client.wait_for_service(5.0):
                raise SystemExit("two nodes of one process do not find each other")
            begun = time.perf_counter()
            done = threading.Event()
            future = client.call_async(CancelTask.Request(task_id="ping"))
            future.add_done_callback(lambda _: done.set())
            if not done.wait(5.0) or future.result().message != "ping":
                raise SystemExit("a service call was not answered in 5 s")
            print(f"{1000 * (time.perf_counter() - begun):.1f}", flush=True)
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


if __name__ == "__main__":
    main()
