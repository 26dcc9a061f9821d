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

// LibreOffice converts spreadsheets with LibreOffice Calc, without a display.
type LibreOffice struct {
	program string   // the path of the executable
	env     []string // variables in addition to the environment of this process
}

// FindLibreOffice returns the LibreOffice that is installed on the machine. If none is installed,
// it downloads the package of Debian and returns that one.
func FindLibreOffice() (LibreOffice, error) {
	if program, err := exec.LookPath("soffice"); err == nil {
		return LibreOffice{program: program}, nil
	}

	root, libraryPath, err := fetchPackages("libreoffice-calc-nogui")
	if err != nil {
		return LibreOffice{}, fmt.Errorf("libreoffice: %w", err)
	}

	home := filepath.Join(root, "usr/lib/libreoffice")
	if err := relocateLibreOffice(home); err != nil {
		return LibreOffice{}, fmt.Errorf("libreoffice: %w", err)
	}

	// The folder of the program also contains the libraries that belong to LibreOffice.
	programFolder := filepath.Join(home, "program")

	return LibreOffice{
		program: filepath.Join(programFolder, "soffice.bin"),
		env:     []string{"LD_LIBRARY_PATH=" + programFolder + ":" + libraryPath},
	}, nil
}

// relocateLibreOffice changes the settings of the LibreOffice in the folder home: the paths at
// which a package manager would install the package become paths below home. Settings that are
// changed already stay as they are.
func relocateLibreOffice(home string) error {
	settingsFile := filepath.Join(home, "program/fundamentalrc")

	settings, err := os.ReadFile(settingsFile)
	if err != nil {
		return err
	}

	relocated := strings.NewReplacer(
		"file:///usr/lib/libreoffice", "file://"+home,
		"file:///etc/libreoffice/registry", "file://"+filepath.Join(home, "share/.registry"),
	).Replace(string(settings))
	if relocated == string(settings) {
		return nil
	}

	// Another process may read the settings meanwhile: they are written to a temporary file, which
	// then replaces them.
	temporaryFile := settingsFile + ".part"
	if err := os.WriteFile(temporaryFile, []byte(relocated), 0o644); err != nil {
		return err
	}

	return os.Rename(temporaryFile, settingsFile)
}

// Convert converts a CSV file (RFC 4180, UTF-8) to another format, such as xlsx. It writes the
// result to the folder of the CSV file and returns the path of the result.
func (l LibreOffice) Convert(csvFile, format string) (string, error) {
	dir := filepath.Dir(csvFile)
	result := strings.TrimSuffix(csvFile, filepath.Ext(csvFile)) + "." + format

	// The import filter reads fields that are separated by "," (character 44) and quoted with `"`
	// (34), in UTF-8 (76), from line 1 on.
	const importFilter = "CSV:44,34,76,1"

	// LibreOffice is started twice: the first start may only create a profile, and exit without a
	// result.
	var output []byte
	for range 2 {
		cmd := exec.Command(l.program, "-env:UserInstallation=file://"+filepath.Join(dir, "profile"),
			"--headless", "--convert-to", format, "--infilter="+importFilter, "--outdir", dir, csvFile)
		cmd.Env = append(os.Environ(), append(l.env, "HOME="+dir)...)
		output, _ = cmd.CombinedOutput()

		if _, err := os.Stat(result); !errors.Is(err, fs.ErrNotExist) {
			return result, err
		}
	}

	return "", fmt.Errorf("libreoffice wrote no %s: %s", result, output)
}
