import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { shortDeadlines, startsProcesses } from './tidy/deadlines.ts'
import { closedTooEarly, longFunctions } from './tidy/functions.ts'
import { typesDeclaredTwice, vagueLocals, wordsElsewhere } from './tidy/names.ts'
import { bagsOfOneCaller, constantsOfOneUser } from './tidy/one-user.ts'
import { fileCycles, folderCycles, looseFiles, storeKnowers, strayLibraries, wrongArrows } from './tidy/rooms.ts'
import { codeOf, collectors, prose, root, type Source, sources, tests } from './tidy/sources.ts'
import { idiomsIn, idiomsInProse } from './tidy/words.ts'

/** The rules of ARCHITECTURE.md, read off the sources. Each says in its message why it is one. */

const all = [...sources, ...collectors, ...tests]

describe('the house is tidy:', () => {
  it('arrows point down, the two loops do not know each other, and a closed room has one door', () => {
    expect(wrongArrows(), 'a room may be rewritten when what may use it is known: see mayImport and doors').toEqual([])
  })

  it('no room but the outbox knows how the outbox is stored', () => {
    expect(
      storeKnowers(),
      'another store can stand behind the contract as long as no user knows SQLite, a table or a file of it',
    ).toEqual([])
  })

  it('no files import each other, types included', () => {
    expect(fileCycles(), 'one of the two cannot be read, tested or moved without the other').toEqual([])
  })

  it('no folders import each other, and no sub-folders of a folder', () => {
    expect(folderCycles(), 'the files directly in a folder are above its sub-folders or below them, not both').toEqual(
      [],
    )
  })

  it('nothing is loose in src', () => {
    expect(looseFiles(), 'a reader finds a file by its room').toEqual([])
  })

  it('each library has one home', () => {
    expect(strayLibraries(), 'a library that is replaced must be replaced in one place').toEqual([])
  })

  it('every import leads somewhere', () => {
    const lost = all.flatMap(({ file, imports }) =>
      imports
        .filter(({ target }) => target.endsWith('.ts') && target.includes('/') && !existsSync(join(root, target)))
        .map(({ target }) => `${file} → ${target}`),
    )
    expect(lost, 'a path that leads nowhere was left behind by a move').toEqual([])
  })

  it('time and chance come from one file', () => {
    // The second one is text for the browser; the third has the engine's names of timers, made of the first; the last those
    // of sockets.
    const machineTime = [
      'src/edge/time.ts',
      'src/status/page/live-script.ts',
      'src/fleet/job-engine.ts',
      'src/outbox/postgres/connection/pool.ts',
    ]
    const forbidden =
      /\bDate\.now\b|\bMath\.random\b|\bsetTimeout\b|\bsetInterval\b|\bAbortSignal\.timeout\b|\bnew Date\(\)|\bperformance\.now\b/
    const wrong = [...sources, ...collectors].filter(
      ({ file, text }) => !machineTime.includes(file) && forbidden.test(codeOf(text)),
    )
    expect(
      wrong.map(({ file }) => file),
      'what takes the clock from the machine cannot be run through a year in a second',
    ).toEqual([])
  })

  it('a shipped collector imports nothing of the daemon: the package has it to be read, and to be copied', () => {
    const wrong = collectors.filter(({ text }) => /from '(\.\.\/)+src\//.test(text))
    expect(wrong.map(({ file }) => file)).toEqual([])
  })

  it('connections to PostgreSQL come from one file, and from one collector, which is a program of its own', () => {
    const makers = ['src/outbox/postgres/connection/pool.ts', 'collectors/sql/postgres.ts']
    const making = /\bnew (pg\.)?(Pool|Client)\(|\bextends pg\./
    const wrong = [...sources, ...collectors].filter(
      ({ file, text }) => !makers.includes(file) && /'(pg|pg-boss)'/.test(text) && making.test(codeOf(text)),
    )
    expect(
      wrong.map(({ file }) => file),
      'connections made elsewhere have no time limit, and wait for a dead gateway for ever',
    ).toEqual([])
    const engine = sources.find(({ file }) => file === 'src/fleet/job-engine.ts')
    expect(engine?.text, 'without a database of ours, the engine makes connections of its own').toMatch(/\bdb: \{/)
  })

  it('tests wait on signals and do not sleep', () => {
    const sleeping = tests.filter(
      ({ file, text }) =>
        /test\.ts$/.test(file) && !file.startsWith('test/tidy') && /\bsetTimeout\(|timers\/promises/.test(codeOf(text)),
    )
    expect(
      sleeping.map(({ file }) => file),
      'a test that sleeps is slow where it passes and fails where the machine is slower',
    ).toEqual([])
  })

  it('no test depends on how fast the machine is', () => {
    const limits = /\bvi\.wait(For|Until)\(|, \{ timeout: [\d_]+ \}|^\s*\}, [\d_]+\)$/m
    const limited = tests.filter(({ file, text }) => !file.startsWith('test/tidy') && limits.test(codeOf(text)))
    expect(
      limited.map(({ file }) => file),
      'a test has the limit of all (vitest.config.ts), and waits by expect.poll or untilTrue',
    ).toEqual([])
    expect(
      tests.filter(startsProcesses).flatMap(({ file, text }) => shortDeadlines(text).map(found => `${file}: ${found}`)),
      'a slow machine needs a minute; where a deadline is the subject, a LeapingTime passes it',
    ).toEqual([])
    expect(shortDeadlines('{ deadlineMs: 2_000 }, deadline: 59s, timeoutMs: 60_000, timeout: 1m')).toHaveLength(2)
  })

  it('there is no any, no silenced compiler or linter, and no test that is left out', () => {
    const forbidden = [
      /:\s*any\b|<any>|\bas any\b|any\[\]/,
      /\bas unknown as\b/,
      /@ts-(ignore|nocheck)|biome-ignore/,
      /\b(it|describe|test)\.only\(/,
      /\bTODO\b|\bFIXME\b/,
    ]
    const wrong = all
      .filter(({ file }) => !file.startsWith('test/tidy'))
      .flatMap(({ file, text }) =>
        forbidden.filter(pattern => pattern.test(codeOf(text))).map(pattern => `${file}: ${pattern}`),
      )
    expect(wrong, 'what is silenced is not checked').toEqual([])
  })

  it('one thing is written in one way', () => {
    const ways: readonly [files: readonly Source[], other: RegExp, way: string][] = [
      [tests, /^\s*test[.(]/m, 'it('],
      [[...sources, ...collectors], /\w\+\+|\+\+\w/, '+= 1'],
    ]
    const wrong = ways.flatMap(([files, other, way]) =>
      files.filter(({ text }) => other.test(codeOf(text))).map(({ file }) => `${file}: write ${way}`),
    )
    expect(wrong, 'a reader asks what the difference means').toEqual([])
  })

  it('JSON is parsed in one place, which bounds it', () => {
    const wrong = [...sources, ...collectors].filter(
      ({ file, text }) =>
        !/^src\/(build\/|model\/json\.ts)/.test(file) && /\bJSON\.parse\b|(?<!form)\.json\(\)/i.test(codeOf(text)),
    )
    expect(
      wrong.map(({ file }) => file),
      'write jsonOf or parsedJson of model/json.ts: some bytes of JSON may take a hundred times their memory',
    ).toEqual([])
  })

  it('texts of peers are cut in one place, before anything looks at them', () => {
    const wrong = [...sources, ...collectors].filter(
      ({ file, text }) => file !== 'src/model/text.ts' && /\bas PeerText\b/.test(codeOf(text)),
    )
    expect(
      wrong.map(({ file }) => file),
      'write peerText of model/text.ts: a node, a service or a source may answer a megabyte of words',
    ).toEqual([])
    const [rpc, post, page] = ['src/chain/endpoint/rpc.ts', 'src/edge/post-message.ts', 'src/edge/described-answer.ts']
    for (const taker of [rpc, post, page])
      expect(sources.find(({ file }) => file === taker)?.text, taker).toMatch(/\b(message|text): PeerText/)
  })

  it('an hour is read by HourReader alone', () => {
    const mayRun = /^src\/(app\/open-|runner\/|testing\/|cli\/explain\/|intake\/hour-reader\.ts)/
    const wrong = sources.filter(
      ({ file, text }) => !mayRun.test(file) && /\brunnerOn\(|\brunner\.collect\(/.test(text),
    )
    expect(
      wrong.map(({ file }) => file),
      'a run that is not checked is a value that may be wrong',
    ).toEqual([])
  })

  it('a result of an hour is stored by the one pipeline', () => {
    // The two others stand between it and the outbox in a fleet: their stores add to its commit who has the hour.
    const stores = /^src\/(intake\/collect-hours|fleet\/fleet-intake-store|app\/backfill-windows)\.ts$/
    const storing = /\bintake\s*\.record(Gap)?\(/
    const wrong = sources.filter(({ file, text }) => !stores.test(file) && storing.test(codeOf(text)))
    expect(
      wrong.map(({ file }) => file),
      'what becomes of an hour would be decided twice: write pipeline.collect or pipeline.record',
    ).toEqual([])
  })

  it('core does not ask whether a collector is a certain shipped one', () => {
    // An asset by the name of its price is written out before its process sees it, a database has a file for a host, and
    // derived values are computed here.
    const asking = /^src\/(config\/named-assets|cli\/doctor\/sources|intake\/derived\/derived-values)\.ts$/
    const wrong = sources.filter(
      ({ file, text }) => !asking.test(file) && /(?<!typeof )\buse('\])? [!=]== '[a-z]/.test(codeOf(text)),
    )
    expect(
      wrong.map(({ file }) => file),
      'a collector of one’s own with the same options gets the same checks',
    ).toEqual([])
  })

  it('files are read in one go', () => {
    const long = sources.filter(({ text }) => text.split('\n').length > 701)
    expect(
      long.map(({ file }) => file),
      'a file has 700 lines at most, and is read from top to bottom',
    ).toEqual([])
  })

  it('names that live for more than three lines say what they hold', () => {
    const vague = vagueLocals([...sources, ...collectors])
    // Those of libraries, and verbs: the number only falls.
    expect(vague.length, `digest, certificate, offset; no pronoun, participle or adverb:\n${vague.join('\n')}`).toBe(11)
  })

  it('functions are short', () => {
    expect(sources.flatMap(longFunctions), 'what needs more than a screen does more than one thing').toEqual([])
  })

  it('what is open with using is open until the work with it has ended', () => {
    expect(closedTooEarly([...sources, ...collectors]), 'write return await').toEqual([])
    const early = 'async function read() {}\nasync function act() {\n  using one = open()\n  return read()\n}\n'
    expect(closedTooEarly([{ file: 'x.ts', text: early, imports: [] }])).toEqual(['x.ts:4: return read()'])
  })

  // Not all are mended yet: a number here only falls.
  it.each([
    ['constants of one user', constantsOfOneUser, 6, 'a constant stands above its only user'],
    ['bags of one caller', bagsOfOneCaller, 31, 'what has one caller takes what it needs as arguments'],
  ] as const)('there are no more %s', (_, found, most, why) => {
    const all = found()
    expect(all.length, `${why}:\n${all.join('\n')}\n`).toBeLessThanOrEqual(most)
  })

  it('a word has one meaning in the names of types and folders', () => {
    expect(wordsElsewhere(), 'what a name means can be guessed then').toEqual([])
  })

  it('a type name is declared once', () => {
    expect(typesDeclaredTwice(), 'a search for one name must not find two ideas').toEqual([])
  })

  it('comments and messages use plain words', () => {
    const written = all.filter(({ file }) => !file.startsWith('test/tidy'))
    expect(written.flatMap(idiomsIn), 'a sentence that is read twice costs every reader').toEqual([])
  })

  it('the documentation uses plain words', () => {
    expect(prose.flatMap(idiomsInProse), 'a word that stops a reader costs every reader').toEqual([])
  })

  it.each([
    ['/** Nobody waits for it. */', 'Nobody'],
    ['/** The caller is told. */', 'told'],
    ['// A text that is none.', 'is none'],
    ['/** What X works with. */', 'What x works with.'],
    ['/** Waits. How long it takes is unknown. */', 'How long it takes is unknown.'],
    ["log.warn('the outbox is opened anew')", 'anew'],
    ['const lockedToldMs = 1', 'Told'],
  ])('and a planted idiom is found: %s', (line, words) => {
    const [found] = idiomsIn({ file: 'x.ts', text: line.replace('X', '`X`') })
    expect(found?.toLowerCase()).toContain(words.toLowerCase())
  })

  it('every export of the sources says what it is', () => {
    const silent = sources.flatMap(({ file, text }) =>
      [...text.matchAll(/^(.*)\n(export (?:async )?(?:function|class|const|interface) (\w+))/gm)]
        .filter(([, before]) => !/\*\/\s*$/.test(before ?? ''))
        .map(([, , , name]) => `${file}: ${name}`),
    )
    expect(silent, 'it can be used without being read').toEqual([])
  })

  it('words stand for one thing: no data, info, manager, helper, util, handle or process in names', () => {
    const wrong = sources.flatMap(({ file, text }) =>
      [
        ...codeOf(text).matchAll(
          /\b(?:function|class|const|let|interface|type)\s+(\w*(?:[Mm]anager|[Hh]elper|[Uu]tils?\b|[Hh]andle[A-Z]|process[A-Z]|[a-z]Info\b|[a-z]Data\b(?<!revertData|workerData))\w*)/g,
        ),
      ].map(([, name]) => `${file}: ${name}`),
    )
    expect(wrong, 'such a word says nothing about what it names').toEqual([])
  })
})
