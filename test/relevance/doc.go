// Package relevance measures the quality of search. It posts a board of
// adverts through the API, runs queries that clinicians type, and grades the
// results by attributes of the adverts that the service never receives.
//
// The files in testdata:
//
//   - places.txt has one town a line: key, name, coordinates, regions, country
//     and the ways in which adverts write it.
//   - specialties.txt has a display name and a paragraph for each specialty,
//     and a requirement for each skill that an advert may ask for.
//   - employers.txt has the employers, each with the paragraphs that it adds to
//     all of its adverts.
//   - adverts/*.txt has the adverts, grouped by role.
//   - queries/*.txt has the queries, grouped by what they test.
//   - baseline.json has the scores that a change must not lower.
//
// A role is a line with its attributes, its body paragraphs (one per advert in
// turn) and its adverts, each with paragraphs of its own if there are any:
//
//	= ROLE ATTRIBUTES
//	> body paragraph
//	* TITLE | EMPLOYER[@PLACE] | ATTRIBUTES
//	+ paragraph of the advert above
//
// An attribute is KEY=VALUE[,VALUE…] or a word that stands for one, such as
// "permanent" or "remote". Attributes after the role are defaults of its adverts.
// Three attributes say what work it is: "role" is the role that the advert names,
// "kind" is the profession of this role, and "job" has all roles for which the
// advert is an answer: its role and those of the attribute "also".
//
// A query is one line:
//
//	TEXT ? PARAMETERS | 3 RULE | 2 RULE | 1 RULE | ! RULE
//
// A rule is a list of conditions that all hold, or several such lists joined
// by " / ". The first grade whose rule an advert meets is its grade. An advert
// without a grade that meets the rule after "!" must not be among the first
// ten. A query without the grade 3 must find nothing.
//
// Conditions: KEY=VALUE[,VALUE…], KEY!=VALUE[,VALUE…], within=PLACE:MILES,
// pay>=N and pay<=N (per year), text=SOME_WORDS (literally in the advert),
// title=SOME_WORDS, and any.
//
// The tests of the vocabulary need no adverts: they write every name of every
// role and specialty in other ways (plural, spelling, a typo, with a place) over
// an index with one advert per concept, and compare what is found.
package relevance
