import { expect, it } from 'vitest'
import { cautionsOf } from '../../src/config/cautions.ts'
import { certificateNotes } from '../../src/config/certificates.ts'
import { loadConfig } from '../../src/config/load.ts'
import { certificateFor } from '../support/certificate.ts'
import { configured } from '../support/tidegauge.ts'

const nowMs = Date.parse('2026-11-20T12:00:00Z')
const own = certificateFor(['tides'])
const soon = certificateFor(['tides'], new Date('2026-12-10T13:00:00Z'))
const later = certificateFor(['tides'], new Date('2026-12-11T13:00:00Z'))
const ended = certificateFor(['tides'], new Date('2026-11-20T11:00:00Z'))

const yaml = `service:
  url: https://metrics.example.test
  key: { env: PATH }
  certificate: { cert: ./client.crt, key: { file: ./client.key } }
ca: ./ca.pem
protocols: [{ id: a, name: A, collectors: [{ use: host }] }]
`

it.each([
  ['of use', {}, /^ok client\.crt fits its key, and ends in \d+ days, on 2120-01-01 → undefined$/],
  [
    'that ends in 20 days',
    { 'client.crt': soon.cert, 'client.key': soon.key },
    / ends in 20 days, on 2026-12-10 → renew/,
  ],
  ['that ends in 21 days', { 'client.crt': later.cert, 'client.key': later.key }, /^ok .* ends in 21 days, /],
  [
    'that has ended',
    { 'client.crt': ended.cert, 'client.key': ended.key },
    /^failed .* ended on 2026-11-20 → renew it/,
  ],
  [
    'with the key of another',
    { 'client.key': soon.key },
    /^failed the key of service\.certificate is not that of the certificate in client\.crt → put the key/,
  ],
  [
    'with another text as a key',
    { 'client.key': 'hunter2' },
    /^failed the key of service\.certificate cannot be read as a private key → keep it as PEM/,
  ],
  [
    'with an empty key',
    { 'client.key': '' },
    /^failed the secret's file is empty → put the secret there, and nothing else$/,
  ],
  [
    'that is another text',
    { 'client.crt': 'hunter2' },
    /^failed the file client\.crt, named by service\.certificate, holds no certificate → name a file/,
  ],
  [
    'that is cut off',
    { 'client.crt': own.cert.replace(/\n.{30}/, '\n') },
    /^failed the file client\.crt holds a certificate that is damaged → write the file again/,
  ],
  [
    'of an authority that has ended',
    { 'ca.pem': ended.cert },
    /^failed ca\.pem holds an authority, and ended on 2026-11-20 → renew it/,
  ],
  [
    'of authorities of which one has ended',
    { 'ca.pem': ended.cert + own.cert },
    /^ok ca\.pem holds 2 authorities, and ends in \d+ days, on 2120-01-01/,
  ],
  [
    'of an authority that is a key',
    { 'ca.pem': own.key },
    /^failed the file ca\.pem, named by ca, holds no certificate → name a file/,
  ],
] as const)('a certificate %s is judged, with what to do', (what, files, expected) => {
  const { config: file } = configured(yaml, {
    'ca.pem': own.cert,
    'client.crt': own.cert,
    'client.key': own.key,
    ...files,
  })
  const config = loadConfig(file)
  const folder = file.replace('tidegauge.yaml', '')
  const said = certificateNotes(config, nowMs).map(
    ({ outcome, found, fix }) => `${outcome} ${found.replace(folder, '')} → ${fix}`,
  )
  expect(said).toContainEqual(expect.stringMatching(expected))
  expect(said.join()).not.toContain('hunter2')
  // `check` finds the same at its place, but does not look at the clock.
  const places = cautionsOf(config).map(
    ({ place, message }) => `${place.line}:${place.column} ${message.split(':')[0]}`,
  )
  const isWrong = expected.source.startsWith('^failed') && !/ended/.test(what)
  expect(places.filter(place => /(ca|certificate)$/.test(place))).toEqual(
    isWrong ? ['ca.pem' in files ? '5:5 ca' : '4:24 certificate'] : [],
  )
})
