"""One service call between two nodes through the interfaces, in a separate process. Prints the milliseconds."""

import os
import time


def main() -> None:
    """Call CancelTask on a node of this process; ends with an error where no answer comes in five seconds."""
    from planweave_interfaces.srv import CancelTask

    from planweave_ros.calling import ask
    from planweave_ros.spin import executor_of, own_node, spun

    name = f"/planweave_doctor_{os.getpid()}/ask"

    def answer(request: CancelTask.Request, response: CancelTask.Response) -> CancelTask.Response:
        response.message = request.task_id
        return response

    with own_node(f"planweave_doctor_{os.getpid()}") as node:
        node.create_service(CancelTask, name, answer)
        client = node.create_client(CancelTask, name)
        with spun(executor_of(node)):
            if not client.wait_for_service(5.0):
                raise SystemExit("two nodes of one process do not find each other")
            begun = time.perf_counter()
            reply = ask(client, CancelTask.Request(task_id="ping"), 5.0)
            if reply is None or reply.message != "ping":
                raise SystemExit("a service call was not answered in 5 s")
            print(f"{1000 * (time.perf_counter() - begun):.1f}", flush=True)


if __name__ == "__main__":
    main()
