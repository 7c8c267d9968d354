package main

import (
	"flag"
	"log"
)

func main() {
	listen := flag.String("listen", "", "where to listen")
	pprof := flag.String("pprof", "", "where profiles are")
	replicas := flag.String("replicas", "", "the replicas' addresses, comma separated")
	key := flag.String("key", "", "the client's key")
	flag.Parse()
	if err := run(*listen, *pprof, *replicas, *key); err != nil {
		log.Fatal(err)
	}
}
