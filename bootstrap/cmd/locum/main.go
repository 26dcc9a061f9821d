// Command locum is the job board.
package main

import "github.com/locumhq/locum/bootstrap"

func main() { bootstrap.Main() }
