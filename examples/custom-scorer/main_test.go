package main

func Example() {
	main()
	// Output:
	// standard goes to rented: looked at 4: chosen 1, outscored 3
	//   rented   power -1728 device-seconds
	//   hall-2   power -7776 device-seconds
	//   unknown  power -8640 device-seconds
	//   hall-1   power -12096 device-seconds
	// batch goes to hall-2: looked at 4: chosen 1, outscored 2, custom:not-rented 1
	//   rented   is rented by the hour, which a batch model is not worth (custom:not-rented)
	//   hall-2   power -7776 device-seconds
	//   unknown  power -8640 device-seconds
	//   hall-1   power -12096 device-seconds
}
