package heavy

import (
	"bytes"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// redPDF returns a PDF document with a red page.
func redPDF() []byte {
	var body bytes.Buffer
	body.WriteString("%PDF-1.4\n")

	// This PDF operator fills the page with red.
	const paint = "1 0 0 rg 0 0 600 800 re f"

	var offsets []int // of the objects
	for i, object := range []string{
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R >>",
		fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(paint), paint),
	} {
		offsets = append(offsets, body.Len())
		fmt.Fprintf(&body, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}

	// The cross-reference table begins with the entry of object 0, which every PDF has.
	tableOffset := body.Len()
	tableSize := 1 + len(offsets)
	fmt.Fprintf(&body, "xref\n0 %d\n0000000000 65535 f \n", tableSize)

	for _, offset := range offsets {
		fmt.Fprintf(&body, "%010d 00000 n \n", offset)
	}

	fmt.Fprintf(&body, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", tableSize, tableOffset)

	return body.Bytes()
}

// readDocuments applies for a job of the employer with a PDF document and a text that is HTML,
// and opens both as the employer. The browser must show the PDF, and must not execute the script in the text.
func readDocuments(t *testing.T, s *testServer, axe string) {
	t.Helper()

	const noCheck = "" // of accessibility
	browser, clinician := newBrowser(t, s.url, axe), newBrowser(t, s.url, noCheck)
	signInEmployer(s, browser)
	browser.open("/employer/jobs?status=active")

	job := filepath.Base(evaluate[string](browser, `document.querySelector("tbody th a").pathname`))

	// A clinician uploads both documents and applies with them.
	clinician.open("/register?as=jobseeker")
	fillInSignUp(clinician, "orla@example.org")
	clinician.press("Create account")

	for name, content := range map[string][]byte{
		"cv.pdf":      redPDF(),
		"letter.html": []byte("<script>document.title = 'run'</script><h1>Dear ward</h1>"),
	} {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, content, 0o600))
		clinician.open("/account/documents")
		clinician.do(chromedp.SetUploadFiles(chromedp.CSS("#file"), []string{path}))
		clinician.press("Upload")
	}

	clinician.open("/jobs/" + job + "/apply")

	_ = evaluate[chromedp.Void](clinician,
		`document.querySelectorAll("main textarea[required]").forEach(t => { t.value = "12A3456E" })`)
	_ = evaluate[chromedp.Void](clinician,
		`document.querySelectorAll("main [name=documentIds]").forEach(d => { d.checked = true })`)
	clinician.pressFor("Review your application", "Check your application")
	clinician.press("Send application")

	// The employer opens the application, which links to both documents.
	browser.open("/employer/applications?job=" + job)
	browser.leads(chromedp.Click(`(//tbody//th/a)[1]`))
	browser.checkPage("console-application-documents")

	links := evaluate[[][]string](browser, `[...document.querySelectorAll('a[target="_blank"][href$="?view=1"]')]`+
		`.map(a => [a.textContent.trim(), a.getAttribute("href")])`)
	require.Len(t, links, 2)

	paths := map[string]string{} // by the title of the document
	for _, link := range links {
		text, path := link[0], link[1]
		paths[strings.TrimSuffix(text, " (opens in a new tab)")] = path
	}

	browser.open(paths["letter"])
	require.Equal(t, "<script>document.title = 'run'</script><h1>Dear ward</h1>", browser.text())
	require.NotEqual(t, "run", evaluate[string](browser, "document.title"), "the script in the document was not executed")
	browser.requireNoErrors()

	browser.open(paths["cv"])
	require.Eventually(t, func() bool { return browser.isRedInTheMiddle() }, 20*time.Second, 100*time.Millisecond,
		"the viewer shows the red page")
	browser.requireNoErrors()
}

// isRedInTheMiddle reports whether the pixel in the middle of the window is red.
func (b *browser) isRedInTheMiddle() bool {
	b.t.Helper()

	screenshot, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	require.NoError(b.t, err)

	image, err := png.Decode(bytes.NewReader(screenshot))
	require.NoError(b.t, err)

	// Colors have 16 bits. Small differences are due to the color profile of the viewer.
	red, green, blue, _ := image.At(image.Bounds().Dx()/2, image.Bounds().Dy()/2).RGBA()

	return red > 0xf000 && green < 0x1000 && blue < 0x1000
}

// readTimes requires that the script of the site shows times of day in the browser's time zone, and leaves dates as
// they are. The element time has the time itself as dateTime, the shown text, and the time in UTC as title.
func readTimes(t *testing.T, s *testServer) {
	t.Helper()

	browser := newBrowser(t, s.url, "")
	_, err := chromedp.Call(browser.ctx, emulation.SetTimezoneOverride,
		emulation.SetTimezoneOverrideParams{TimezoneID: "America/New_York"})
	require.NoError(t, err)
	signInEmployer(s, browser)
	browser.open("/employer/interviews")

	// Interviews have a time of day, which is 4 or 5 hours earlier in New York than in UTC.
	times := evaluate[[][]string](browser,
		`[...document.querySelectorAll("main time")].map(e => [e.dateTime, e.textContent, e.title])`)
	require.NotEmpty(t, times)

	zone, err := time.LoadLocation("America/New_York")
	require.NoError(t, err)

	for _, element := range times {
		dateTime, text, title := element[0], element[1], element[2]
		at, err := time.Parse(time.RFC3339, dateTime)
		require.NoError(t, err)

		_, offsetSeconds := at.In(zone).Zone()
		wantText := at.In(zone).Format("2 Jan 2006, 15:04 ") + fmt.Sprintf("GMT%d", offsetSeconds/3600)
		require.Equal(t, wantText, text)
		require.Equal(t, at.UTC().Format("2 Jan 2006, 15:04 UTC"), title)
	}

	// Only times that the script has changed have a title.
	browser.open("/employer/applications")

	changedDates := evaluate[[]string](browser, `[...document.querySelectorAll("main time")]`+
		`.filter(e => !e.dateTime.includes("T") && e.title).map(e => e.textContent)`)
	require.Equal(t, []string{}, changedDates, "dates stay")

	// A time that the employer enters for an interview is in UTC. The form shows it in the browser's time zone, too.
	browser.leads(chromedp.Click(`(//tbody//th/a)[1]`))
	browser.do(chromedp.Click(`//summary[contains(., "nterview")]`))

	_ = evaluate[chromedp.Void](browser, `(() => {
		const field = document.querySelector("#scheduledAt");
		field.value = "2099-03-03T10:00";
		field.dispatchEvent(new Event("input"));
	})()`)
	require.Contains(t, browser.text(), "In your time zone: 3 Mar 2099, 05:00 GMT-5")
	browser.requireNoErrors()
}
