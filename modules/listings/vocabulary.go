package listings

import (
	"sort"
	"strings"
)

// The words of the trade. Every row is one thing under its several names;
// whoever asks for one finds all. A name of several words is found with them
// side by side.
var synonymRows = strings.Split(strings.TrimSpace(`
rn | registered nurse | registered general nurse | rgn
rmn | registered mental health nurse | mental health nurse | psychiatric nurse
rnld | learning disability nurse | learning disabilities nurse
en | enrolled nurse
lpn | lvn | licensed practical nurse | licensed vocational nurse
cna | certified nursing assistant | certified nurse assistant | nursing assistant | nurse aide
np | nurse practitioner
anp | advanced nurse practitioner | aprn | advanced practice registered nurse
acp | advanced clinical practitioner
cns | clinical nurse specialist
crna | nurse anesthetist | nurse anaesthetist
hca | healthcare assistant | health care assistant | hcsw | healthcare support worker | clinical support worker
gp | general practitioner | family doctor | family physician
pa | physician assistant | physician associate
icu | itu | intensive care | intensive therapy | critical care
nicu | neonatal intensive care
picu | paediatric intensive care | pediatric intensive care
scbu | special care baby unit
hdu | high dependency
ccu | coronary care
ae | er | emergency department | emergency room | accident and emergency | accident emergency | emergency medicine | casualty
ot | occupational therapist | occupational therapy
odp | operating department practitioner
pt | physio | physiotherapist | physiotherapy | physical therapist | physical therapy
slt | salt | slp | speech and language therapist | speech language therapist | speech therapist | speech language pathologist | speech and language therapy
cpn | community psychiatric nurse | community mental health nurse
camhs | child and adolescent mental health
dn | district nurse | district nursing
hv | health visitor | health visiting
sw | social worker | social work
ecg | ekg | electrocardiogram
mri | magnetic resonance
ct | computed tomography
xray | x ray | radiography
radiographer | radiologic technologist | radiology technologist
sonographer | ultrasonographer | ultrasound technologist
phlebotomist | phlebotomy
bms | biomedical scientist
mls | medical laboratory scientist
emt | emergency medical technician
rrt | respiratory therapist
cma | certified medical assistant
obgyn | ob gyn | obstetrics and gynaecology | obstetrics and gynecology | obs and gynae
ent | ear nose and throat | otolaryngology
ed | emergency department
md | physician | doctor | medical doctor
carer | caregiver | care assistant | care worker | home health aide
cqc | care quality commission
nhs | national health service
hse | health service executive
ahp | allied health professional
mdt | multidisciplinary
midwife | midwifery
paediatric | paediatrics | pediatric | pediatrics | peds | paeds
paediatrician | pediatrician | paediatrics | pediatrics
anaesthetist | anesthetist | anesthesiologist | anaesthetics | anesthesiology
anaesthetics | anaesthesia | anesthesia | anesthesiology
orthopaedic | orthopaedics | orthopedic | orthopedics | ortho
gynaecology | gynecology | gynae
haematology | hematology
psychiatrist | psychiatry
cardiologist | cardiology
neurologist | neurology
radiologist | radiology
pathologist | pathology
urologist | urology
rheumatologist | rheumatology
endocrinologist | endocrinology
gastroenterologist | gastroenterology
haematologist | hematologist | haematology | hematology
gynaecologist | gynecologist | gynaecology | gynecology
obstetrician | obstetrics
geriatrician | geriatrics | geriatric medicine
podiatrist | podiatry | chiropodist
audiologist | audiology
dietitian | dietician | dietetics
pharmacist | pharmacy
psychology | psychologist
dentist | dental surgeon
haemodialysis | hemodialysis
oesophageal | esophageal
oncology | oncologist | cancer care
dialysis | renal | nephrology
theatre | operating room | perioperative
theatres | operating theatres
centre | center
neonatal | neonates
dermatology | dermatologist
psychologist | clinical psychologist
rehab | rehabilitation
pharmacy tech | pharmacy technician
dental nurse | dental assistant
ward sister | charge nurse | ward manager
palliative | end of life | hospice
elderly care | care of the elderly | geriatrics | geriatric
`), "\n")

// synonymsOf maps a name to all names of its thing. Keys are words with spaces
// between them.
var synonymsOf, longestSynonym = func() (map[string][]Term, int) {
	m, longest := map[string][]Term{}, 0
	for _, row := range synonymRows {
		var forms []Term
		var names []string
		for _, name := range strings.Split(row, "|") {
			ws := strings.Fields(name)
			longest = max(longest, len(ws))
			forms = append(forms, Term{Words: ws, Adjacent: len(ws) > 1})
			names = append(names, strings.Join(ws, " "))
			if last := &ws[len(ws)-1]; len(*last) > 4 && !strings.HasSuffix(*last, "s") && !strings.HasSuffix(*last, "y") {
				names = append(names, strings.Join(ws, " ")+"s") // nurses
			}
		}
		for _, n := range names {
			m[n] = union(m[n], forms)
		}
	}
	return m, longest
}()

// shorthand are the abbreviations under which whoever looks for the word also
// wants to find: an RN is a nurse.
var shorthand = map[string][]string{
	"nurse":        {"rn", "rgn", "rmn", "rnld", "lpn", "lvn", "np", "anp", "aprn", "crna", "cns", "cpn"},
	"nurses":       {"rn", "rgn", "rmn", "rnld", "lpn", "lvn", "np", "anp", "aprn", "crna", "cns", "cpn"},
	"therapist":    {"ot", "slt", "slp", "rrt", "physio"},
	"therapists":   {"ot", "slt", "slp", "rrt", "physio"},
	"practitioner": {"gp", "np", "anp", "acp", "odp"},
	"assistant":    {"hca", "cna"},
	"technician":   {"emt"},
}

func union(a, b []Term) []Term {
	out := append([]Term(nil), a...)
	seen := map[string]bool{}
	for _, t := range a {
		seen[strings.Join(t.Words, " ")] = true
	}
	for _, t := range b {
		if k := strings.Join(t.Words, " "); !seen[k] {
			seen[k] = true
			out = append(out, t)
		}
	}
	return out
}

// synonymsAt finds the longest name that the words begin with and gives all
// names of its thing and the name's length, 0 if it is none.
func synonymsAt(words []string) ([]Term, int) {
	for n := min(longestSynonym, len(words)); n >= 1; n-- {
		if forms, ok := synonymsOf[strings.Join(words[:n], " ")]; ok {
			return forms, n
		}
	}
	return nil, 0
}

// SpecialtyNames are the folded names under which a specialty may be filed.
func SpecialtyNames(specialty string) []string {
	words := Words(specialty)
	own := strings.Join(words, " ")
	out := []string{own}
	if forms, n := synonymsAt(words); n > 0 && n == len(words) {
		for _, f := range forms {
			if name := strings.Join(f.Words, " "); name != own {
				out = append(out, name)
			}
		}
	}
	sort.Strings(out[1:])
	return out
}

// contractWords say how one is employed.
var contractWords = map[string]Clause{
	"permanent": {ContractTypes: []string{"permanent"}}, "perm": {ContractTypes: []string{"permanent"}},
	"temporary": {ContractTypes: []string{"temporary"}}, "temp": {ContractTypes: []string{"temporary"}},
	"contract": {ContractTypes: []string{"contract"}}, "fixed term": {ContractTypes: []string{"contract"}},
	"full time": {EmploymentTypes: []string{"full-time"}}, "fulltime": {EmploymentTypes: []string{"full-time"}},
	"part time": {EmploymentTypes: []string{"part-time"}}, "parttime": {EmploymentTypes: []string{"part-time"}},
	"bank":     {EmploymentTypes: []string{"bank"}},
	"per diem": {EmploymentTypes: []string{"per-diem"}}, "perdiem": {EmploymentTypes: []string{"per-diem"}}, "prn": {EmploymentTypes: []string{"per-diem"}},
	"flexible": {EmploymentTypes: []string{"flexible"}},
	"remote":   {Remote: true}, "remotely": {Remote: true}, "work from home": {Remote: true}, "home based": {Remote: true}, "wfh": {Remote: true},
}

func contractAt(words []string) (Clause, int) {
	for n := min(3, len(words)); n >= 1; n-- {
		if c, ok := contractWords[strings.Join(words[:n], " ")]; ok {
			t := Term{Words: words[:n:n], Adjacent: n > 1}
			switch {
			case len(c.ContractTypes) > 0:
				t.Unstated = NoContractType
			case len(c.EmploymentTypes) > 0:
				t.Unstated = NoEmploymentType
			}
			c.Terms = []Term{t}
			return c, n
		}
	}
	return Clause{}, 0
}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// payPeriods end an amount: £20 per hour.
var payPeriods = set("hour hr day shift week month year annum")

var prepositions = set("in near at around nearby")

// fillers are words of the question, not of the job.
var fillers = set(`job jobs vacancy vacancies work working looking for with needed need wanted want required require
	position positions opening openings opportunity opportunities post posts role roles career careers hiring
	employment seeking search find show me my myself i im am please any some available current urgent urgently now new latest immediate`)

// stopWords stand in every text and tell nothing. They are neither indexed nor
// asked for. "it" is not among them: it is also a trade.
var stopWords = set(`a an and are as at be been by for from has have in into is its of on or our such that the their
	they this to was we were will with you your`)

// StopWord reports whether a word is left out of indexes and queries.
func StopWord(w string) bool { return stopWords[w] }

// commonWords are words of the trade, and of English, that are also the name
// of some place. They are places only after in, near, at or a comma.
var commonWords = set(`ward home homes bank porter nurse nurses nursing care carer hospital clinic doctor surgery surgeon
	health healthcare medical medicine mental staff senior junior lead leader leading manager management charge head hope
	union street school college university centre center park community general practice practitioner specialist assistant
	support worker worker therapist therapy theatre operating critical intensive emergency accident trauma children child adult
	adults older elderly mother baby women men family young youth night nights day days evening weekend shift shifts early late
	long short full part time band grade level pay salary hour hours year years week month annual leave training trainee student
	graduate qualified registered newly experience experienced entry top high low main central north south east west northern
	southern eastern western upper lower great little old new good best better well wells free social services service private
	public national local regional global international independent agency recruitment hospice pharmacy dental dentist dispenser
	optician midwife ambulance paramedic driver driving cleaner cleaning chef cook kitchen catering domestic housekeeping
	security reception receptionist secretary admin administrator clerk clerical office data analyst engineer technician
	scientist laboratory lab radiology imaging scan cardiac cardiology cancer oncology renal stroke pain sleep eye ear skin bone
	heart lung brain blood diabetes wound infection control prevention discharge bed beds unit team rota call deputy director
	chief executive officer board consultant associate fellow registrar resident foundation core speciality specialty clinical
	research trial project programme program quality safety risk policy advice adviser advisor coach counsellor counselor
	education educator teacher practice enterprise normal mobile sandwich battle deal sale march rugby orange apple lake
	hill valley river bay beach island field forest wood green white black brown blue red rose may june august april summer
	winter spring autumn king queen prince bishop abbey church christ temple cross victory liberty independence commerce
	industry college justice fair lady moon sun star gold golden silver diamond iron stone rock sand water fire earth hazard
	oral renal sport sports play work rest peace love joy grace faith charity angel guardian mission trust vision vital
	excel success advance career progress bright happy friendly passionate caring kind warm open closed live living life
	assisted step stop start move mover house housing room rooms floor front back outpatient inpatient patient patients
	people person personal relief sister brother matron tutor mentor principal warden`)
