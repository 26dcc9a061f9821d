package services

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
	root, env, err := fetched("chromium", "fonts-dejavu-core", "fontconfig-config")
	if err != nil {
		return Chromium{}, fmt.Errorf("chromium: %w", err)
	}
	sound, _ := filepath.Glob(filepath.Join(root, "usr/lib/*-linux-*/pulseaudio")) // a library has its own there
	fonts, err := fontsOf(root)
	return Chromium{
		Program: filepath.Join(root, "usr/lib/chromium/chromium"),
		Env:     []string{strings.Join(append(env[:1:1], sound...), ":"), "FONTCONFIG_FILE=" + fonts},
	}, err
}

// fontsOf writes a configuration of the fonts below root and of those of the
// machine.
func fontsOf(root string) (file string, err error) {
	file = filepath.Join(root, "fonts.conf")
	own := `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
<include ignore_missing="yes">` + filepath.Join(root, "etc/fonts/fonts.conf") + `</include>
<dir>` + filepath.Join(root, "usr/share/fonts") + `</dir>
<cachedir>` + filepath.Join(root, "var/cache/fontconfig") + `</cachedir>
</fontconfig>
`
	if there, err := os.ReadFile(file); err == nil && string(there) == own {
		return file, nil
	}
	part, err := os.CreateTemp(root, "fonts-")
	if err != nil {
		return "", err
	}
	_, err = part.WriteString(own)
	return file, errors.Join(err, part.Close(), os.Rename(part.Name(), file))
}
