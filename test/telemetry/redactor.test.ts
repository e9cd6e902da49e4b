import { inspect } from 'node:util'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { dice } from '../../src/devchain/dice.ts'
import { describedAnswer } from '../../src/edge/described-answer.ts'
import { secretPartsOf } from '../../src/model/host.ts'
import { readRemark, wordsOf } from '../../src/model/remarks.ts'
import { peerText } from '../../src/model/text.ts'
import { judgeTelegram } from '../../src/reports/notify/receivers.ts'
import { Redactor } from '../../src/telemetry/redactor.ts'

describe('the redactor', () => {
  it('takes a secret out in each form in which it occurs', () => {
    const redactor = new Redactor()
    const secret = 'k"ey/with space'
    redactor.add([secret])
    const lines = [`key ${secret}`, JSON.stringify({ secret }), `https://x/?k=${encodeURIComponent(secret)}`]
    for (const line of lines) {
      expect(redactor.redact(line)).toContain('[redacted]')
      expect(redactor.redact(line)).not.toMatch(/with.{1,3}space/)
    }
  })

  it('takes it out however often it was written into JSON or a URL', () => {
    const redactor = new Redactor()
    const secret = 'k"ey/+\\%end'
    redactor.add([secret])
    const once = JSON.stringify({ secret })
    const spelled = [
      ...[once, JSON.stringify(once), JSON.stringify(JSON.stringify(once))],
      once.replaceAll('/', '\\/'),
      once.replaceAll('/', '\\u002F'),
      ...[encodeURIComponent(secret), encodeURIComponent(secret).toLowerCase()],
      encodeURIComponent(encodeURIComponent(secret)),
    ]
    for (const text of spelled) expect(redactor.redact(text)).toMatch(/^[\W]*(secret)?[\W]*\[redacted\]\W*$/)
    expect(JSON.parse(redactor.redact(once))).toEqual({ secret: '[redacted]' })
    expect(JSON.parse(redactor.redact(JSON.stringify(`\n${secret}\t`)))).toBe('\n[redacted]\t')
  })

  it('takes it out of what was encoded in base64, wherever it stands there', () => {
    const secret = 'sk-key?>31c7~d2e9'
    const redactor = new Redactor()
    redactor.add([secret])
    for (const before of ['', 'x', 'me:', 'user']) {
      for (const form of ['base64', 'base64url'] as const) {
        const text = Buffer.from(`${before}${secret}, and more`).toString(form)
        for (const spelled of [text, encodeURIComponent(text), JSON.stringify(text).replaceAll('/', '\\/')]) {
          const left = redactor.redact(spelled).replace('[redacted]', '·')
          expect(Buffer.from(left.replace(/.*·/, ''), 'base64').toString()).not.toContain('d2e9')
          expect(left.length).toBeLessThan(spelled.length - secret.length)
        }
      }
    }
  })

  it.each(['', 'x', 'me', 'me:'])(
    'leaves the same of base64 of any secret behind %j, so that a replay asks the same',
    before => {
      const redactedOf = (secret: string, form: 'base64' | 'base64url') => {
        const redactor = new Redactor()
        redactor.add([secret])
        const text = Buffer.from(`${before}${secret}`).toString(form)
        return [redactor.redact(text), redactor.redact(`/a?by=${encodeURIComponent(text)}&x`)]
      }
      for (const form of ['base64', 'base64url'] as const) {
        const [plain, inQuery] = redactedOf('stand-in-of-options.key', form)
        expect(plain).toMatch(/^\w{0,4}\[redacted\]$/)
        expect(inQuery).toMatch(/^\/a\?by=\w{0,4}\[redacted\]&x$/)
        for (const secret of ['sk?>31c7~d2e9f0', 'sk?>31c7~d2e9f01', 'sk?>31c7~d2e9f012'])
          expect(redactedOf(secret, form)).toEqual([plain, inQuery])
      }
    },
  )

  it('takes out the beginning of one where a text was cut off', () => {
    const redactor = new Redactor()
    redactor.add(['sk-key-31c7d2e9'])
    const cut = ['asks sk-key-31c7…', "{ url: 'x/sk-key-31c7'... 40 more characters }", 'asks sk-key-31c7d2e']
    for (const text of cut) expect(redactor.redact(text)).not.toContain('sk-key')
    expect(redactor.redact('sk-key-31 is another one… as sk-ke…')).toBe('sk-key-31 is another one… as sk-ke…')
  })

  it('knows where each text of a peer was cut, wherever that is in the secret', () => {
    const secret = 'sk-key-31c7d2e9f8a6b5c4d3e2'
    const redactor = new Redactor()
    redactor.add([secret])
    const texts: readonly ((said: string) => string | undefined)[] = [
      said =>
        `answers ${describedAnswer({ status: 200, headers: {}, text: peerText(`<title>${said}`) }, 'http://a')}: ask`,
      said => JSON.stringify(judgeTelegram({ kind: 'answered', status: 400, text: peerText(said) }, 0)),
      said => `${wordsOf({ message: said })} – ask`,
      said => `${readRemark(said, []).text} – ask`,
    ]
    for (const text of texts) {
      for (let before = 0; before < 520; before += 1) {
        expect(redactor.redact(text(`${'-'.repeat(before)} ${secret}`) ?? '')).not.toContain(secret.slice(0, 9))
      }
    }
  })

  it('leaves a sentence alone whose words a secret address begins with', () => {
    const redactor = new Redactor()
    const addresses = [
      'https://hooks.example.com/services/T01/B02/c3d4e5',
      'https://rpc.example.com/ethereum/a1b2c3d4e5',
    ]
    redactor.add(addresses.flatMap(address => secretPartsOf(address)))
    for (const text of [
      'ask the service',
      'of all services',
      'the serv… of ethereum',
      "'ethereu'... 9 more characters",
    ])
      expect(redactor.redact(text)).toBe(text)
    expect(redactor.redact(`at ${addresses[0]?.slice(0, -2)}`)).toBe('at [redacted]')
    expect(redactor.redact('posts to /services/T01/B0…')).toBe('posts to [redacted]…')
  })

  it.each([
    ['hexadecimal', '0123456789abcdef', 32],
    ['base 32', 'abcdefghijklmnopqrstuvwxyz234567', 26],
    ['base 62', '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', 22],
    ['letters', 'abcdefghijklmnopqrstuvwxyz', 30],
  ])('takes a key of %s out wherever a text was cut within it, but for a few letters', (_, alphabet, chars) => {
    const { whole } = dice(7)
    for (let count = 0; count < 20; count += 1) {
      const key = Array.from({ length: chars }, () => alphabet[whole(0, alphabet.length - 1)]).join('')
      const redactor = new Redactor()
      redactor.add(secretPartsOf(`https://hooks.example.com/services/${key}`))
      for (let cut = 10; cut <= chars; cut += 1)
        for (const end of ['', '…', "'... 7 more characters"])
          expect(redactor.redact(`sends ${key.slice(0, cut)}${end}`), `${key}, ${cut}`).toBe(`sends [redacted]${end}`)
    }
  })

  it.each([
    ['hexadecimal digits', (key: Buffer) => key.toString('hex')],
    ['capital ones', (key: Buffer) => key.toString('hex').toUpperCase()],
    ['digits within others', (key: Buffer) => `0xa${key.toString('hex')}00ff`],
    ['a buffer as Node shows it', (key: Buffer) => inspect(Buffer.concat([Buffer.from('Bearer '), key]))],
    ['a buffer as JSON', (key: Buffer) => JSON.stringify({ key })],
    ['colons between the bytes', (key: Buffer) => key.toString('hex').match(/../g)?.join(':') ?? ''],
    ['numbers of HTML', (key: Buffer) => [...key].map(byte => `&#${byte};`).join('')],
    ['hexadecimal numbers of HTML', (key: Buffer) => [...key].map(byte => `&#x${byte.toString(16)};`).join('')],
    ['names of HTML', (key: Buffer) => `${key}`.replace('&', '&amp;').replace('<', '&lt;').replace('"', '&#34;')],
    ['HTML twice', (key: Buffer) => `${key}`.replace('&', '&amp;amp;').replace('<', '&amp;lt;')],
  ])('takes it out of %s', (_, spelled) => {
    const secret = `q7&v<w"${'pear-tree-9'.repeat(8)}`
    const redactor = new Redactor()
    redactor.add([secret])
    const text = redactor.redact(`it says ${spelled(Buffer.from(secret))} at 2026-11-20 12:00:00`)
    expect(text).toMatch(/^it says .*\[redacted\].* at 2026-11-20 12:00:00$/)
    expect(text).not.toMatch(/pear|70 ?:?65|112, ?101|&#x?\d/)
  })

  it('leaves other bytes as they are', () => {
    const redactor = new Redactor()
    redactor.add(['sk-key-31c7d2e9'])
    const texts = [
      `0x${'00'.repeat(64)}`,
      '<Buffer 01 02 03 04 05 06 07 08 09>',
      '1, 2, 3, 4, 5, 6, 7, 8, 9, 300',
      'A &amp; B',
    ]
    for (const text of texts) expect(redactor.redact(text)).toBe(text)
  })

  it('finds one whose letters were encoded, too', () => {
    const redactor = new Redactor()
    redactor.add(['menu0041abc', 'plain-key-77'])
    for (const text of ['menu0041abc', 'pl%61in-key-77', 'pl\\u0061in-k\\\\u0065y-77', '%2570lain-key-77']) {
      expect(redactor.redact(`x ${text} y`)).toBe('x [redacted] y')
    }
  })

  it.each([300, 3_500, 20_000])('takes out one of %s characters in each form', chars => {
    const { whole } = dice(chars)
    const random = (count: number) => Buffer.from(Array.from({ length: count }, () => whole(0, 255)))
    const lines =
      random(chars)
        .toString('base64')
        .match(/.{1,64}/g) ?? []
    const secrets = [
      `eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.${random(chars).toString('base64url')}`.slice(0, chars),
      ['-----BEGIN PRIVATE KEY-----', ...lines, '-----END PRIVATE KEY-----'].join('\n'),
      `${'a\\\\"/ é'.repeat(chars / 7)}z`,
    ]
    for (const secret of secrets) {
      const redactor = new Redactor()
      redactor.add([secret])
      const once = JSON.stringify(secret)
      for (const text of [secret, once, JSON.stringify(once), encodeURIComponent(secret), encodeURIComponent(once)])
        expect(redactor.redact(`asks ${text} today`)).toMatch(/^asks [\\"%C2]*\[redacted\][\\"%C2]* today$/)
      const encoded = Buffer.from(`me:${secret}`).toString('base64')
      expect(redactor.redact(encoded).length).toBeLessThan(30)
      expect(redactor.redact(`${secret.slice(0, -1)}… ${secret}`)).toBe('[redacted]… [redacted]')
    }
  })

  it('changes nothing that another says, where it has an owner', () => {
    const redactor = new Redactor()
    redactor.add(['Supply', 'shared-key'], 'a')
    redactor.add(['shared-key'], 'b')
    redactor.add(['of-all-key'])
    redactor.add(['of-all-key'], 'a')
    const text = 'Supply, shared-key, of-all-key'
    expect(redactor.redact(text, 'a')).toBe('[redacted], [redacted], [redacted]')
    expect(redactor.redact(text, 'b')).toBe('Supply, [redacted], [redacted]')
    expect(redactor.redact(text, 'c')).toBe('Supply, shared-key, [redacted]')
    expect(redactor.redact(text)).toBe('[redacted], [redacted], [redacted]')
    redactor.add(['Supply'])
    expect(redactor.redact(text, 'c')).toBe('[redacted], shared-key, [redacted]')
  })

  it('finds numbers, and what stands in a text that is not ASCII, however it is written', () => {
    const redactor = new Redactor()
    redactor.add(['100123456789012', 'clé-secrète-7', 'pass+word 12'])
    const json = '{"account":100123456789012,"list":[1234,115,101,99,114,101,116,45,1234],"half":0.51}'
    expect(JSON.parse(redactor.redactJson(json))).toEqual({
      account: '[redacted]',
      list: [1234, 115, 101, 99, 114, 101, 116, 45, 1234],
      half: 0.51,
    })
    for (const text of [
      'é clé-secrète-7 é',
      'é % clé-secrète-7 é',
      'é cl%C3%A9-secr\\u00e8te-7 é',
      'é pass%2Bword+12 é',
    ])
      expect(redactor.redact(text)).toMatch(/^é (% )?\[redacted\] é$/)
  })

  it('leaves JSON as JSON, with its names, whatever a secret is', () => {
    const line = JSON.stringify({
      level: 'error',
      collector: 'a',
      msg: 'collected',
      bytes: [...Buffer.from('level":')],
    })
    for (const secret of ['","msg":"', 'level":"', 'collector', 'collected', '{"level', ':[108,101', '"error"']) {
      const redactor = new Redactor()
      redactor.add([secret], 'another')
      const parsed = JSON.parse(redactor.redactJson(line))
      expect(Object.keys(parsed)).toEqual(['level', 'collector', 'msg', 'bytes'])
      expect(JSON.stringify(parsed.msg)).not.toContain(secret)
    }
    const json = fc.jsonValue()
    fc.assert(
      fc.property(fc.string({ minLength: 6 }), json, json, (secret, before, after) => {
        const redactor = new Redactor()
        redactor.add([secret], 'another')
        const clean = JSON.parse(redactor.redactJson(JSON.stringify({ before, secret: `x${secret}y`, after })))
        expect(clean.secret).toBe('x[redacted]y')
      }),
    )
  })

  it('takes as long for a text that is made to be slow as for any other', () => {
    const redactor = new Redactor()
    redactor.add(['/path\\to"the%key', 'another-key', `${'a'.repeat(2_800)}!${'a'.repeat(2_800)}`])
    for (const text of [
      `${'a'.repeat(8_191)}b`,
      '\\'.repeat(1e6),
      `/${'\\'.repeat(1e6)}`,
      '%25'.repeat(3e5),
      '/\\'.repeat(5e5),
    ]) {
      expect(redactor.redact(text)).toBe(text)
    }
  })

  it('leaves ordinary words alone, also when something short is called a secret', () => {
    const redactor = new Redactor()
    redactor.add(['', 'a', 'data'])
    expect(redactor.redact('a data line')).toBe('a data line')
  })
})
