package services

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Chromium is the path of the browser and the environment that it needs.
type Chromium struct {
	Program string
	Env     []string
}

// FindChromium returns the Chromium of the machine, or downloads Debian's.
func FindChromium() (Chromium, error) {
	if program, err := exec.LookPath("chromium"); err == nil {
		return Chromium{Program: program}, nil
	}

	root, libraryPath, err := fetchPackages("chromium", "fonts-dejavu-core", "fontconfig-config")
	if err != nil {
		return Chromium{}, fmt.Errorf("chromium: %w", err)
	}

	// PulseAudio's library loads another library from a folder of its own.
	soundLibraries, _ := filepath.Glob(filepath.Join(root, "usr/lib/*-linux-*/pulseaudio"))
	for _, folder := range soundLibraries {
		libraryPath += ":" + folder
	}

	fontsFile, err := writeFontsConfig(root)
	if err != nil {
		return Chromium{}, fmt.Errorf("chromium: %w", err)
	}

	return Chromium{
		Program: filepath.Join(root, "usr/lib/chromium/chromium"),
		Env:     []string{"LD_LIBRARY_PATH=" + libraryPath, "FONTCONFIG_FILE=" + fontsFile},
	}, nil
}

// writeFontsConfig writes a fontconfig file for the fonts below root and those of the machine,
// and returns its path. An existing file with the same content is not replaced.
func writeFontsConfig(root string) (file string, err error) {
	file = filepath.Join(root, "fonts.conf")

	config := `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
<include ignore_missing="yes">` + filepath.Join(root, "etc/fonts/fonts.conf") + `</include>
<dir>` + filepath.Join(root, "usr/share/fonts") + `</dir>
<cachedir>` + filepath.Join(root, "var/cache/fontconfig") + `</cachedir>
</fontconfig>
`
	if existing, err := os.ReadFile(file); err == nil && string(existing) == config {
		return file, nil
	}

	// Another process may read the file meanwhile. A temporary file that then gets the name of the
	// file is never read incomplete.
	temporary, err := os.CreateTemp(root, "fonts-")
	if err != nil {
		return "", err
	}

	_, err = temporary.WriteString(config)
	if err := errors.Join(err, temporary.Close()); err != nil {
		return "", err
	}

	return file, os.Rename(temporary.Name(), file)
}
