package services

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// LibreOffice converts documents with LibreOffice Calc, which needs no display.
type LibreOffice struct {
	program string
	env     []string
}

// FindLibreOffice returns the LibreOffice of the machine, or downloads Debian's.
func FindLibreOffice() (LibreOffice, error) {
	if program, err := exec.LookPath("soffice"); err == nil {
		return LibreOffice{program: program}, nil
	}

	root, libraryPath, err := fetched("libreoffice-calc-nogui")
	if err != nil {
		return LibreOffice{}, fmt.Errorf("libreoffice: %w", err)
	}

	home := filepath.Join(root, "usr/lib/libreoffice")
	if err := configureLibreOffice(home); err != nil {
		return LibreOffice{}, fmt.Errorf("libreoffice: %w", err)
	}

	bin := filepath.Join(home, "program") // also contains LibreOffice's own libraries

	return LibreOffice{
		program: filepath.Join(bin, "soffice.bin"),
		env:     []string{strings.Replace(libraryPath, "=", "="+bin+":", 1)},
	}, nil
}

// configureLibreOffice replaces the paths of an installed package in the settings by those below
// home. It is idempotent.
func configureLibreOffice(home string) error {
	settings := filepath.Join(home, "program/fundamentalrc")

	raw, err := os.ReadFile(settings)
	if err != nil {
		return err
	}

	relocated := strings.NewReplacer(
		"file:///usr/lib/libreoffice", "file://"+home,
		"file:///etc/libreoffice/registry", "file://"+filepath.Join(home, "share/.registry"),
	).Replace(string(raw))
	if relocated == string(raw) {
		return nil
	}

	temporary := settings + ".part"

	return errors.Join(os.WriteFile(temporary, []byte(relocated), 0o644), os.Rename(temporary, settings))
}

// Convert writes a CSV file (RFC 4180, UTF-8) in another format beside it and
// returns the new file's path.
func (l LibreOffice) Convert(csvFile, format string) (string, error) {
	dir := filepath.Dir(csvFile)
	out := strings.TrimSuffix(csvFile, filepath.Ext(csvFile)) + "." + format
	const csvWithCommas = "CSV:44,34,76,1" // separator ",", quote `"`, UTF-8 (76), from line 1

	var output []byte
	for range 2 { // the first start may create a profile and exit without converting
		cmd := exec.Command(l.program, "-env:UserInstallation=file://"+filepath.Join(dir, "profile"),
			"--headless", "--convert-to", format, "--infilter="+csvWithCommas, "--outdir", dir, csvFile)
		cmd.Env = append(os.Environ(), append(l.env, "HOME="+dir)...)
		output, _ = cmd.CombinedOutput()

		if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
			return out, err
		}
	}

	return "", fmt.Errorf("libreoffice wrote no %s: %s", out, output)
}
