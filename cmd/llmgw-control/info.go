package main

import (
	"context"
	"fmt"
	"os"
	"runtime"

	"github.com/urfave/cli/v3"

	"llmgw.io/llmgw"
)

func openapiCommand() *cli.Command {
	return &cli.Command{
		Name:  "openapi",
		Usage: "print the OpenAPI document of the admin API",
		Action: func(context.Context, *cli.Command) error {
			doc, err := llmgw.OpenAPI(version)
			if err != nil {
				return err
			}
			_, err = os.Stdout.Write(doc)
			return err
		},
	}
}

func versionCommand() *cli.Command {
	return &cli.Command{
		Name:  "version",
		Usage: "print the version",
		Action: func(context.Context, *cli.Command) error {
			fmt.Printf("llmgw-control %s (%s %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return nil
		},
	}
}
