package search

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestAnnotate_Heads checks which words of a title are the head, the role that the job is in, and how
// the words around it change what it means. The first string of a case names the rule, the last one
// has the concepts of the title in the notation of describe: head= the job, second= a second choice,
// other= a role that is only mentioned, spec=, grade= and so on the other concepts.
func TestAnnotate_Heads(t *testing.T) {
	t.Parallel()
	vocabulary := loadVocabulary(t)
	for _, c := range []struct{ rule, title, want string }{
		// Alone, these grades mean a doctor; beside another profession they are only its grade.
		{"grade behind a profession", "Dietitian Staff Grade – Panel", "head=dietitian spec=dietetics grade=basic-grade"},
		{
			"grade behind a profession", "Medical Scientist, Staff Grade – Micro/Virology",
			"head=biomedical-scientist spec=laboratory,microbiology,virology grade=basic-grade",
		},
		{"grade behind a profession", "Audiologist, Clinical Fellow", "head=audiologist spec=audiology grade=clinical-fellow-grade"},
		{"grade behind a profession", "Consultant Pharmacist – Antimicrobials", "head=pharmacist spec=pharmacy grade=consultant-grade"},
		// After a slash the grade is an alternative to the role and not its grade: an SHO is a doctor.
		{"grade as an alternative", "Advanced Clinical Practitioner / SHO", "head=advanced-clinical-practitioner,doctor grade=sho-grade"},
		// No doctors specialize in dentistry, so that its registrar is a dentist.
		{"grade in the specialty of a profession", "Dental Registrar", "head=dentist spec=dentistry grade=registrar-grade"},
		{
			"grade in the specialty of a profession", "Registrar – Paediatric Dentistry",
			"head=dentist spec=dentistry,paediatric-dentistry grade=registrar-grade",
		},
		{"grade in the specialty of a profession", "Associate Specialist in Podiatry", "head=podiatrist spec=podiatry grade=sas-grade"},
		{"grade in the specialty of a profession", "Pharmacy Fellow", "head=pharmacist spec=pharmacy grade=clinical-fellow-grade"},
		{"grade in a specialty of doctors", "SHO Maternity", "head=doctor spec=maternity grade=sho-grade"},
		{"grade in a specialty of doctors", "Registrar – Laboratory Medicine", "head=doctor spec=pathology grade=registrar-grade"},
		{"team lead", "District Nurse Team Lead / Caseload Holder", "head=district-nurse second=manager spec=community-nursing"},
		{"head of department", "Orthoptist Head of Department", "head=orthoptist second=department-head spec=ophthalmology"},
		{"support worker who leads", "Healthcare Assistant Supervisor", "head=healthcare-assistant second=manager"},
		// Nurse is a broad role, so that the licence before it counts as much.
		{"licence before the head", "LPN Wound Treatment Nurse", "head=licensed-practical-nurse,nurse spec=wound-care"},
		{
			"list in brackets", "Mental Health Practitioner (Nurse/OT/Social Worker)",
			"head=mental-health-practitioner second=nurse,occupational-therapist,social-worker spec=mental-health,occupational-therapy,social-work",
		},
		{
			"list after a dash", "Case Manager/Discharge Planner – RN or MSW",
			"head=case-manager,discharge-coordinator second=registered-nurse,social-worker spec=case-management,social-work",
		},
		{
			// A support worker needs no registration: the professions are those that are supported.
			"list of a support worker", "Therapy Technical Instructor (Physio/OT)",
			"head=therapy-assistant other=physiotherapist,occupational-therapist spec=physiotherapy,occupational-therapy",
		},
		{
			"list of a non-clinical role", "Medical Secretary (Physiotherapist)",
			"head=medical-secretary other=physiotherapist spec=physiotherapy",
		},
		{
			"clerk and what clerks do", "Clerical Officer Grade IV – Medical Secretary",
			"head=administrator,medical-secretary grade=hse-grade-4",
		},
		{
			"clerk and what clerks do", "Clerical Officer (Gr III) – Medical Records",
			"head=medical-records-clerk spec=health-records grade=hse-grade-3",
		},
		{"clerk and what clerks do", "Clerical Officer – Pharmacy", "head=administrator spec=pharmacy"},
		// The specialty completes a noun that says little, if the vocabulary has a name for both.
		{"noun and a specialty", "Nurse wanted for friendly dental practice", "head=dental-nurse spec=dentistry"},
		{"noun and a specialty", "Nurse – GP Practice", "head=practice-nurse spec=general-practice"},
		{"noun and a specialty", "Physician – Family Medicine w/ OB", "head=general-practitioner spec=general-practice,obstetrics"},
		{"noun and a specialty", "Supervisor, Transfusion Svcs", "head=manager spec=blood-transfusion"},
		// A cardiology nurse is a nurse in cardiology, not a role of its own.
		{"noun and a specialty of the same profession", "Nurse – Cardiology", "head=nurse spec=cardiology"},
		{"two roles at a slash", "Research Nurse/Midwife", "head=research-nurse,midwife spec=research,maternity"},
		{"two roles at a slash", "HCA / Phlebotomist", "head=healthcare-assistant,phlebotomist spec=phlebotomy"},
		{"two roles at a slash", "NP/PA – Cardiology", "head=nurse-practitioner,physician-associate spec=cardiology"},
		// Two names of one role: a vocational nurse is a practical nurse.
		{"one role at a slash", "LPN/LVN – Nights", "head=licensed-practical-nurse shift=nights"},
		{"trainee at a slash", "Trainee Dental Nurse/Receptionist", "second=dental-nurse,receptionist spec=dentistry grade=trainee-grade"},
		{
			"trainee in the next part", "Anatomical Pathology Technologist (Trainee)",
			"second=mortuary-technician spec=mortuary grade=trainee-grade",
		},
		{"trainee in the next part", "Optometrist (Pre-reg)", "second=optometrist spec=optometry grade=trainee-grade"},
		// Qualified nurses may apply too, so that the role is no second choice.
		{"trainee as an alternative", "Dental Nurse (Qualified OR Trainee)", "head=dental-nurse spec=dentistry grade=trainee-grade"},
		{
			"profession of a trainee", "Trainee Radiographer (Apprenticeship)",
			"second=radiographer spec=imaging grade=trainee-grade,apprentice-grade",
		},
		// The vocabulary has a role for student nurses, so that they are no second choice for nurses.
		{"profession of a student", "Student Nurse", "head=student-nurse"},
		{
			"specialty without a role", "Physiotherapy, Senior (Respiratory/ICU)",
			"head=physiotherapist spec=physiotherapy,respiratory,intensive-care grade=senior",
		},
		// Several professions work in intensive care, but only one in physiotherapy.
		{"specialty without a role", "ICU", "spec=intensive-care"},
		{
			// Two names of working hours: OR is the conjunction and not the operating room.
			"OR between conditions", "COTA – Full Time OR Part Time",
			"head=occupational-therapy-assistant spec=occupational-therapy hours=full-time,part-time",
		},
		// OR joins concepts of one kind, and a contract and a role are of two: it is the operating
		// room, whose specialty is theatres.
		{"OR before a role", "Travel OR Nurse", "head=nurse spec=theatres contract=travel"},
		// A concept after "no" is not tagged: neither obstetrics nor heart surgery. Anaesthetics comes
		// with the role.
		{"negation", "CRNA – No OB, No Hearts", "head=nurse-anaesthetist spec=anaesthetics"},
		{"negation", "RDH – No Evenings", "head=dental-hygienist spec=dentistry"},
		// Days are a unit here, not day shifts; PAs are the programmed activities of a contract, not
		// physician associates; hr is an hour, not human resources, and OT overtime.
		{"unit of a number", "Dental Therapist – 3 days", "head=dental-therapist spec=dentistry"},
		{"unit of a number", "Specialty Doctor in GUM 6 PAs", "head=doctor spec=sexual-health grade=sas-grade"},
		// The number belongs to the band, so that PA is the role.
		{"unit of a number", "Band 7 PA", "head=physician-associate grade=band-7 setting=nhs"},
		{"unit of a number", "HHA $18/hr + OT", "head=home-health-aide setting=home-health"},
		{"hours of the day", "EVS Attendant 3p-11:30p", "head=cleaner shift=evenings"},
		{"hours of the day", "Porter 07:00 – 19:30", "head=porter shift=days"},
		// The shift from 11 to 7 begins in the evening. The word shift alone is a name of shift work
		// (rotating).
		{"hours of the day", "CNA – 11-7 shift", "head=certified-nursing-assistant shift=rotating,nights"},
		// Numbers without minutes, a.m. or p.m. are hours only before the word shift.
		{"hours of the day", "Staff Nurse 2-10 beds", "head=registered-nurse"},
		{"hospitalist of a specialty", "Laborist / OB Hospitalist", "head=doctor spec=obstetrics-gynaecology"},
		{"hospitalist of a specialty", "Pediatric Hospitalist – Nocturnist", "head=doctor spec=paediatrics shift=nights"},
		{"hospitalist of a specialty", "EM Physician – Nocturnist", "head=doctor spec=emergency shift=nights"},
		// Beside a director, PA is no physician associate.
		{"personal assistant", "PA to Medical Director", "head=personal-assistant other=medical-director"},
		// The residency of a nurse is a programme for new graduates, that of a doctor a grade (below).
		{
			"residency of a nurse", "Registered Nurse (RN) Residency – Med/Surg",
			"head=registered-nurse spec=medical-surgical experience=newly-qualified",
		},
		{
			"residency of a pharmacist", "PGY2 Pharmacy Resident – Oncology",
			"head=pharmacy-resident spec=pharmacy,oncology grade=resident-grade",
		},
		{
			"clinical lead of a profession", "Clinical Lead – Occupational Therapy",
			"head=clinical-manager second=occupational-therapist spec=occupational-therapy",
		},
		// A profession before the word manager would be the head ("team lead" above). A specialty does
		// not make the manager a pharmacist.
		{"manager of a department", "Pharmacy Area Manager", "head=manager spec=pharmacy"},
		// The word sales as a part of its own means that the job is in sales, so that the other roles
		// are only mentioned.
		{"job in sales", "Clinical Nurse Advisor, Stoma Products (Sales)", "head=commercial-role other=nurse,specialist spec=stoma"},
		{"job in sales", "Home Care Branch Manager – Sales", "head=commercial-role other=registered-manager setting=care-home-setting"},
		{"sales as a modifier", "Medical Device Sales – Orthopaedics", "head=sales-representative spec=orthopaedics"},
		{"hospitalist of a specialty", "PA Hospitalist – Nights", "head=physician-associate spec=internal-medicine shift=nights"},
		{
			"prescriber of a profession", "Pharmacist Independent Prescriber – GP practice",
			"head=pharmacist spec=pharmacy,prescribing,general-practice",
		},
		{"prescriber of a profession", "Non-Medical Prescriber", "head=nurse spec=prescribing"},
		// Ortho is usually orthopaedics, endo is endodontics beside a dental role.
		{"specialty in an abbreviation", "Dental Assistant – Ortho", "head=dental-assistant spec=dentistry,orthodontics"},
		{"specialty of two", "BMS – Blood Sciences", "head=biomedical-scientist spec=laboratory,blood-sciences"},
		{
			"setting with a specialty", "LPN – Pediatrics Home Health",
			"head=licensed-practical-nurse spec=paediatrics setting=paediatric-home-health",
		},
		{"residency of a doctor", "Resident – Internal Medicine", "head=doctor spec=internal-medicine grade=resident-grade"},
		{"specialty in an abbreviation", "Endo RN", "head=registered-nurse spec=endoscopy"},
		{"specialty in an abbreviation", "RN – CVICU", "head=registered-nurse spec=cardiac-intensive-care"},
		// RTT is the time from referral to treatment for an administrator, else a therapeutic
		// radiographer.
		// CCT is critical care transport for a paramedic, for doctors the certificate of a consultant.
		{"specialty in an abbreviation", "RTT Validation Officer", "head=appointment-clerk"},
		{"specialty in an abbreviation", "Paramedic – CCT", "head=paramedic spec=pre-hospital setting=air-transport"},
	} {
		got := vocabulary.Annotate(&Advert{Title: c.title})
		assert.Equal(t, c.want, describe(&got), "%s: %s", c.rule, c.title)
	}
}

// TestAnnotate_Employers checks what the name of the employer says about the place of work. It counts
// as a field (@field), and only words that describe the work count. The second part checks that it
// completes the role of a title that is only a noun ("Nurse" at a dental surgery), but does not change
// the role of a title with a specialty of its own.
func TestAnnotate_Employers(t *testing.T) {
	t.Parallel()
	vocabulary := loadVocabulary(t)
	for company, want := range map[string]string{
		"Riverside Surgery":        "head=porter spec@field=general-practice",
		"Smile Dental Surgery":     "head=porter spec@field=dentistry",
		"Harbour Medical Practice": "head=porter spec@field=general-practice",
		"Molloy's Pharmacy":        "head=porter spec@field=pharmacy,community-pharmacy",
		"Compass Hospice":          "head=porter spec@field=palliative-care setting@field=hospice-setting",
		"BrightWords Staffing":     "head=porter setting@field=agency-setting contract@field=agency",
		"Pathfinder Locums":        "head=porter setting@field=agency-setting contract@field=agency",
		"Wye Valley NHS Trust":     "head=porter setting@field=nhs,hospital-setting",
		// A community trust runs clinics and visits homes: it is no hospital.
		"Sussex Community NHS Trust": "head=porter setting@field=community-setting,nhs",
		"Cardiff Bay UHB":            "head=porter setting@field=nhs",
		"Gulf Coast Cardiology":      "head=porter spec@field=cardiology",
		// Hands and medicine are specialties elsewhere, but not in a name like these.
		"Helping Hands":      "head=porter",
		"School of Medicine": "head=porter",
	} {
		advert := Advert{Title: "Porter", Company: company}
		got := vocabulary.Annotate(&advert)
		assert.Equal(t, want, describe(&got), company)
	}
	for title, want := range map[string]string{
		"Nurse": "head=dental-nurse spec=dentistry",
		// BC/BE is board certified or eligible. In the United States a discipline without a role
		// probably means a doctor.
		"Neurology – BC/BE": "second=doctor spec=neurology spec@field=dentistry",
		// FM is family medicine, which general practitioners staff, and OB obstetrics.
		"FM w/ OB": "head=general-practitioner spec=general-practice,obstetrics spec@field=dentistry",
	} {
		got := vocabulary.Annotate(&Advert{Title: title, Company: "Ocala Dental Surgery", Country: "us"})
		assert.Equal(t, want, describe(&got), title)
	}
}
