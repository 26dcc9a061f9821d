// Command outsider is locum with the adapters of another team: all modules but billing
// in libSQL, billing in bbolt, tasks on NATS JetStream, files on a WebDAV server, mail
// through a relay, limits in the files of a folder, payments by invoice, the developer
// interface on a Unix socket too, and a module that pins jobs.
//
// It has the commands and settings of locum. README.md has an example.
package main

import (
	"example.org/outsider/boltbilling"
	"example.org/outsider/davfiles"
	"example.org/outsider/filelimit"
	"example.org/outsider/invoicepay"
	"example.org/outsider/libsql"
	"example.org/outsider/natsqueue"
	"example.org/outsider/pins"
	"example.org/outsider/smtpmail"
	"example.org/outsider/unixhttp"
	"github.com/locumhq/locum/bootstrap"
)

func main() {
	bootstrap.Main(
		bootstrap.WithStorage("libsql", libsql.Open),
		bootstrap.WithModuleStorage("billing", "bolt", boltbilling.Open),
		bootstrap.WithQueue("nats", natsqueue.Open),
		// The server of the process itself executes the tasks of an embedded queue.
		bootstrap.Override(bootstrap.WithQueue("embedded", natsqueue.Open)),
		bootstrap.WithFiles("dav+http", davfiles.Open),
		bootstrap.WithFiles("dav+https", davfiles.Open),
		bootstrap.WithMailer("relay", smtpmail.Open),
		bootstrap.WithLimiter("file", filelimit.Open),
		bootstrap.WithPayments("invoice", invoicepay.Open),
		bootstrap.WithTransport("unix", unixhttp.Open),
		bootstrap.WithModule(pins.Module),
	)
}
