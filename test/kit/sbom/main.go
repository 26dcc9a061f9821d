// Command sbom writes the bill of materials of a Go program, in CycloneDX JSON:
//
//	go run ./test/kit/sbom bin/locum > bin/sbom.json
package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: sbom PROGRAM")
		os.Exit(2)
	}

	if err := writeSBOM(os.Stdout, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// component is a component of CycloneDX.
type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version"`
	URL     string `json:"purl"`
}

// newComponent returns the component for a Go module. The type is library or application.
func newComponent(componentType, path, version string) component {
	return component{
		Type:    componentType,
		Ref:     path,
		Name:    path,
		Version: version,
		URL:     "pkg:golang/" + path + "@" + version,
	}
}

// writeSBOM writes the bill of materials: the modules that the linker recorded in the program.
func writeSBOM(w io.Writer, program string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}

	components := []component{newComponent("library", "std", info.GoVersion)}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}

		components = append(components, newComponent("library", m.Path, m.Version))
	}

	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")

	return encoder.Encode(map[string]any{
		"$schema":     "http://cyclonedx.org/schema/bom-1.7.schema.json",
		"bomFormat":   "CycloneDX",
		"specVersion": "1.7",
		"version":     1,
		"metadata":    map[string]any{"component": newComponent("application", info.Main.Path, info.Main.Version)},
		"components":  components,
	})
}
