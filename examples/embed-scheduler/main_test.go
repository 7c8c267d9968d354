package main

func Example() {
	main()
	// Output:
	// llama-70b, profile l40s: node a4, devices 0 1 2 3
	//
	// profile h100: looked at 5: chosen 0, not_ready 1, engine_missing 1, class 2, devices_busy 1
	//   a1   needs 4 of H100-80, 2 free
	//        devices_busy: stop a replica there, or add nodes
	//   a2   is cordoned
	//        not_ready: uncordon it, bring its agent back, or set its clock
	//   a3   needs vllm, has llamacpp:cpu
	//        engine_missing: install the engine on the node
	//   a4   needs 4 of H100-80, has 4 of L40S-48
	//        class: add a profile for the classes there are
	//   a5   needs 4 of H100-80, has 4 of L40S-48
	//        class: add a profile for the classes there are
	//
	// profile l40s: looked at 5: chosen 1, not_ready 1, engine_missing 1, class 1, device_memory 1
	//   a1   needs 4 of L40S-48, has 8 of H100-80
	//        class: add a profile for the classes there are
	//   a2   is cordoned
	//        not_ready: uncordon it, bring its agent back, or set its clock
	//   a3   needs vllm, has llamacpp:cpu
	//        engine_missing: install the engine on the node
	//   a5   needs 4 of L40S-48 with 43.2 GiB free each, 3 such; the most there has 48 GiB; 40 GiB are used by processes that llmgw did not start
	//        device_memory: ask for less memory, or stop what else uses the devices
	//   a4   ranks 1
}
