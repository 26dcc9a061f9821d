package mail

// Letter is a message before it has a form: what it says, in the order in which
// it says it. All letters take their form from one pair of templates, so that
// each has a text and an HTML part that say the same. What people typed is
// data in it and never markup.
type Letter struct {
	ID      string
	To      Address
	ReplyTo Address
	Subject string
	// Greeting is the name after Hello, empty for none.
	Greeting string
	Body     []Block
	// Unsubscribe and Invite are as in Message. A letter with Unsubscribe says
	// so at its end.
	Unsubscribe string
	Invite      *Invite
	// Home is the public URL of the service, for the end of the letter.
	Home string
}

// Block is one part of a letter's body; one of its fields is set.
type Block struct {
	Text  string  // a paragraph
	Link  *Link   // something to click, alone on its line
	Code  string  // to be copied as it stands
	Quote string  // what somebody else wrote, line breaks kept
	Facts []Fact  // name and value pairs
	Items []Entry // a list
}

// Link is something to click.
type Link struct{ Label, URL string }

// Fact is one line of a table.
type Fact struct{ Name, Value string }

// Entry is one item of a list.
type Entry struct{ Title, URL, Detail string }
