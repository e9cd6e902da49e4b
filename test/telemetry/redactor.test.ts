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

  it('leaves ordinary words alone, also when something short is called a secret', () => {
    const redactor = new Redactor()
    redactor.add(['', 'a', 'data'])
    expect(redactor.redact('a data line')).toBe('a data line')
  })
})
