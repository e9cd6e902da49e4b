import { describe, expect, it } from 'vitest'
import { command } from '../../support/command.ts'
import { configured, hostYaml } from '../../support/tidegauge.ts'

const mistaken = `service: { url: https://m.example.com, key: { env: NO_SUCH_KEY } }
chains:
  ethereum: { id: 1, rpc: [http://127.0.0.1:8545] }
protocols:
  - id: a
    nmae: A
    collectors:
      - use: erc20-supply
        options: { chain: ehtereum, tokn: "0x6B175474E89094C44Da98b954EedeAC495271d0F", lable: x }
      - use: hots
data: 5
`

/** Each mistake's line, column and message. */
const linesOf = (stderr: string) =>
  stderr.split('\n').flatMap(line => /tidegauge\.yaml:(\d+:\d+: .*)$/.exec(line)?.[1] ?? [])

describe('check', () => {
  it('tells mistakes of the file and of the options at once, in the order of the file', async () => {
    const { config } = configured(mistaken)
    const { code, stderr, stdout } = await command(['check', '--config', config])
    expect({ code, stdout }).toEqual({ code: 78, stdout: '' })
    expect(linesOf(stderr)).toEqual([
      '6:5: unknown key "nmae" in protocols[0]',
      '9:27: protocols[0].collectors[0].options.chain: there is no chain "ehtereum" under chains:',
      '9:37: unknown option "tokn" of erc20-supply',
      '9:89: unknown option "lable" of erc20-supply',
      '10:9: there is no collector "hots"',
      '11:7: data: must be text or a map, not the number 5',
    ])
    const json = await command(['check', '--json', '--config', config])
    expect(JSON.parse(json.stdout)['mistakes'].map(({ line }: { line: number }) => line)).toEqual([6, 9, 9, 9, 10, 11])
  })

  it('warns of a secret that is missing here, with its place, and is in order all the same', async () => {
    const { config } = configured(
      hostYaml.replace('embedded', '{ url: "https://m.example.com", key: { env: NO_SUCH_KEY } }'),
    )
    const { code, stderr, stdout } = await command(['check', '--config', config])
    expect(linesOf(stderr)).toEqual(['1:42: warning: the key of the service: the variable NO_SUCH_KEY is not set'])
    expect(stdout).toContain('in order, 4 metrics an hour, but see 1 warning above')
    expect(code).toBe(0)
    const json = await command(['check', '--json', '--config', config])
    expect(JSON.parse(json.stdout)).toMatchObject({
      cautions: [{ line: 1, column: 42, fix: 'set it where tidegauge is started' }],
    })
  })
})
