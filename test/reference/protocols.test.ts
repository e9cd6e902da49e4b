import { describe, expect, it } from 'vitest'
import { startService } from './service.ts'

const register = '/api/register-protocol'

describe('registering a protocol', () => {
  it('answers with the protocol as it was created', async () => {
    const { post, key } = await startService()
    const protocol = { id: 'my-pool', name: 'My Pool', logo: 'https://example.com/logo.png', chains: ['ethereum'] }
    const { status, body } = await post(register, protocol, key)
    expect(status).toBe(200)
    expect(body).toEqual({ success: true, protocol: { ...protocol, public: false } })
  })

  it('sanitises the id', async () => {
    const { post, key } = await startService()
    const { body } = await post(register, { id: 'My Pool!', name: 'x' }, key)
    expect(body).toEqual({ success: true, protocol: { id: 'My-Pool-', name: 'x', public: false } })
  })

  it.each([
    ['the same id', 'vault', 'vault'],
    ['an id that is the same once sanitised', 'my pool', 'my/pool'],
  ])('refuses %s with 400, also to another key', async (_what, first, second) => {
    const { post, key, store } = await startService()
    await post(register, { id: first, name: 'x' }, key)
    for (const sender of [key, store.keys.create('other')]) {
      const { status, body } = await post(register, { id: second, name: 'x' }, sender)
      expect(status).toBe(400)
      expect(body).toMatchObject({ success: false, error: expect.stringContaining('is taken') })
      expect(body).toMatchObject({ errors: [{ field: 'id' }] })
    }
  })

  it('keeps the first protocol as it was when the id is taken', async () => {
    const { post, key, store } = await startService()
    await post(register, { id: 'vault', name: 'Other', public: true }, store.keys.create('other'))
    expect(store.protocols.find('vault')).toMatchObject({ name: 'Vault', visibility: 'private' })
    expect(store.protocols.find('vault')?.ownerNo).toBe(store.keys.find(key)?.no)
  })

  it('names every mistake at once', async () => {
    const { post, key } = await startService()
    const { status, body } = await post(register, { id: '', logo: 'no address', chains: ['a', 5], public: 'yes' }, key)
    expect(status).toBe(400)
    expect(body).toMatchObject({
      success: false,
      errors: expect.arrayContaining([
        expect.objectContaining({ field: 'id' }),
        { field: 'name', message: 'is missing' },
        expect.objectContaining({ field: 'logo' }),
        { field: 'chains', index: 1, message: 'expected string, received number' },
        expect.objectContaining({ field: 'public' }),
      ]),
    })
  })

  it.each([
    ['no key', undefined],
    ['an unknown key', 'tg_nothing'],
  ])('refuses %s with 401, before it looks at the body', async (_what, key) => {
    const { post, store } = await startService()
    const { status, headers } = await post(register, { id: 'x', name: 'x', logo: 5 }, key)
    expect(status).toBe(401)
    expect(headers.get('www-authenticate')).toBe('Bearer')
    expect(store.protocols.find('x')).toBeUndefined()
  })

  it.each(['javascript:alert(1)', 'data:text/html,x', 'file:///etc/passwd', 'ftp://example.com/x.png'])(
    'refuses the logo %s: a page would load it',
    async logo => {
      const { post, key } = await startService()
      const { status, body } = await post(register, { id: 'x', name: 'x', logo }, key)
      expect(status).toBe(400)
      expect(body).toMatchObject({ errors: [{ field: 'logo', message: 'not an http or https URL' }] })
    },
  )

  it('ignores fields it does not know', async () => {
    const { post, key } = await startService()
    expect((await post(register, { id: 'x', name: 'x', owner: 'me' }, key)).status).toBe(200)
  })
})

describe('validating a protocol id', () => {
  it('tells a free id from a taken one, sanitised', async () => {
    const { get, key, store } = await startService()
    const answer = async (id: string, sender: string) =>
      (await get(`/api/validate-protocol?id=${encodeURIComponent(id)}`, sender)).body
    expect(await answer('new pool', key)).toEqual({ success: true, id: 'new-pool', available: true, owned: false })
    expect(await answer('vault', key)).toEqual({ success: true, id: 'vault', available: false, owned: true })
    const other = store.keys.create('other')
    expect(await answer('vault', other)).toEqual({ success: true, id: 'vault', available: false, owned: false })
  })

  it.each(['', '?id=', '?id=a&id=b'])('refuses the query %j with 400', async query => {
    const { get, key } = await startService()
    const { status, body } = await get(`/api/validate-protocol${query}`, key)
    expect(status).toBe(400)
    expect(body).toMatchObject({ success: false, errors: [{ field: 'id' }] })
  })

  it('needs a key', async () => {
    const { get } = await startService()
    expect((await get('/api/validate-protocol?id=x')).status).toBe(401)
  })
})
