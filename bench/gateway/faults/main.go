package main

import (
	"encoding/json"
	"flag"
	"log"
	"os"
)

func main() {
	control := flag.String("control", "", "the router's program")
	config := flag.String("config", "", "its configuration, with the names of the harness")
	key := flag.String("key", "", "a key that it knows")
	trials := flag.Int("trials", 1000, "trials of each route and stage")
	out := flag.String("out", "", "where the results go")
	flag.Parse()
	res, err := run(*control, *config, *key, *trials)
	if err == nil {
		var b []byte
		if b, err = json.MarshalIndent(res, "", " "); err == nil {
			err = os.WriteFile(*out, b, 0o600)
		}
	}
	if err != nil {
		log.Fatal(err)
	}
}
