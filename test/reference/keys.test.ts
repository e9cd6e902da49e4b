import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Fault } from '../../src/model/fault.ts'
import { temporaryFolder } from '../support/folder.ts'
import { metric, startMs, startService } from './service.ts'

const validate = '/api/validate-key'

describe('a key', () => {
  it('is valid from when it is made until it is revoked', async () => {
    const { get, store } = await startService()
    const key = store.keys.create('mine')
    expect((await get(validate, key)).body).toEqual({ success: true, valid: true, name: 'mine' })
    store.keys.revoke('mine')
    expect((await get(validate, key)).status).toBe(401)
  })

  it.each([
    ['none', undefined],
    ['an empty header', ''],
    ['another scheme', 'Basic dXNlcjpwYXNz'],
    ['no key after the scheme', 'Bearer '],
    ['two keys', 'Bearer one two'],
    ['an unknown key', 'Bearer tg_unknown'],
  ])('refuses %s with 401', async (_what, authorization) => {
    const { url } = await startService()
    const response = await fetch(`${url}${validate}`, authorization === undefined ? {} : { headers: { authorization } })
    expect(response.status).toBe(401)
    expect(await response.json()).toMatchObject({ success: false, error: expect.any(String), errors: [] })
  })

  it('may follow the scheme in any case', async () => {
    const { url, key } = await startService()
    expect((await fetch(`${url}${validate}`, { headers: { authorization: `bEARER ${key}` } })).status).toBe(200)
  })

  it('is nowhere in the file, nor in an answer', async () => {
    const file = join(temporaryFolder(), 'service.db')
    const { key, get } = await startService(file)
    const bytes = Buffer.concat(['', '-wal'].map(ending => readFileSync(`${file}${ending}`)))
    expect(bytes.includes('owner')).toBe(true)
    expect(bytes.includes(key)).toBe(false)
    expect(JSON.stringify((await get('/api/validate-key', key)).body)).not.toContain(key)
    expect(JSON.stringify((await get('/api/validate-key', `${key}x`)).body)).not.toContain(key)
  })

  it('is listed by how it begins', async () => {
    const { key, store } = await startService()
    const revoked = store.keys.create('old')
    store.keys.revoke(revoked.slice(0, 11))
    expect(store.keys.list()).toEqual([
      { prefix: key.slice(0, 11), name: 'owner', createdAtMs: startMs },
      { prefix: revoked.slice(0, 11), name: 'old', createdAtMs: startMs, revokedAtMs: startMs },
    ])
  })

  it('can be rotated: what was owned stays owned, the old key is refused', async () => {
    const { key, store, get, push } = await startService()
    const fresh = store.keys.rotate('owner')
    expect((await push([metric('TVL', 1)], fresh)).status).toBe(200)
    expect((await push([metric('TVL', 2)], key)).status).toBe(401)
    expect((await get('/metrics/byProtocol/vault', fresh)).body).toMatchObject([{ value: 1 }])
  })

  it('must have a name, and be distinct when it is revoked', async () => {
    const { store } = await startService()
    expect(() => store.keys.create(' ')).toThrow(Fault)
    store.keys.create('twin')
    const second = store.keys.create('twin')
    expect(() => store.keys.revoke('twin')).toThrow(/2 keys are named "twin"/)
    store.keys.revoke(second.slice(0, 11))
    store.keys.revoke('twin')
    expect(() => store.keys.revoke('twin')).toThrow(/no valid key/)
  })
})
