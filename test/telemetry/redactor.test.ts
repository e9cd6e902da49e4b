import { describe, expect, it } from 'vitest'
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

  it('takes as long for a text that is made to be slow as for any other', () => {
    const redactor = new Redactor()
    redactor.add(['/path\\to"the%key', 'another-key'])
    for (const text of ['\\'.repeat(1e6), `/${'\\'.repeat(1e6)}`, '%25'.repeat(3e5), '/\\'.repeat(5e5)]) {
      expect(redactor.redact(text)).toBe(text)
    }
  })

  it('leaves ordinary words alone, also when something short is called a secret', () => {
    const redactor = new Redactor()
    redactor.add(['', 'a', 'data'])
    expect(redactor.redact('a data line')).toBe('a data line')
  })
})
