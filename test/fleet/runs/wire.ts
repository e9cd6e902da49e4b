import { AsyncLocalStorage } from 'node:async_hooks'
import pg from 'pg'

/** Owner of connections to the database: a process, as far as they know. */
export interface Owner {
  /** Runs what an answer leads to: later while it is paused, and never when it is dead. */
  go(act: () => void): void
  readonly isAlive: boolean
  /** A statement is about to be sent, or was sent just now, on a connection. */
  statement(side: 'before' | 'after', connection: Connection): void
}

/** A connection that can be broken. */
export interface Connection {
  destroy(): void
}

type Callback = (error: unknown, answer?: unknown) => void

/** Whose code runs now. */
export const owners = new AsyncLocalStorage<Owner>()

/** Answers that the living wait for. */
const underWay = new Map<object, Owner>()
const ownerOf = new WeakMap<object, Owner>()
const connections = new Map<Owner, Set<pg.Client>>()
let isQuiet = Promise.withResolvers<void>()

function ended(token: object): void {
  underWay.delete(token)
  if (underWay.size === 0) isQuiet.resolve()
}

/** Breaks the connections of an owner that has died, and waits for nothing of it any more. */
export function breakAll(owner: Owner): void {
  for (const client of connections.get(owner) ?? []) destroy(client)
  connections.delete(owner)
  for (const [token, own] of underWay) if (own === owner) ended(token)
}

/** Resolves when no statement is under way, and what its answer has led to is done. */
export async function quiet(): Promise<void> {
  for (let quietTurns = 0; quietTurns < 3; quietTurns += 1) {
    if (underWay.size > 0) {
      quietTurns = -1
      await isQuiet.promise
      isQuiet = Promise.withResolvers()
    }
    await new Promise<void>(resolve => void turn(resolve))
  }
}

const turn = (act: () => void) => process.nextTick(() => realImmediate(act))
const realImmediate = setImmediate

function destroy(client: pg.Client): void {
  Reflect.get(Reflect.get(client, 'connection'), 'stream').destroy()
}

/** An operation of a client for its owner; one that is dead hears nothing. */
function watched(owner: Owner, begin: (done: Callback) => void, callback: Callback): void {
  if (!owner.isAlive) return
  const token = {}
  underWay.set(token, owner)
  begin((error, answer) => {
    const isOpen = underWay.has(token)
    // The time goes on once the caller has gone on.
    realImmediate(() => ended(token))
    if (isOpen) owner.go(() => callback(error, answer))
  })
}

/** Lets the statements of this process be counted, and ended with those who send them. */
export function watchStatements(): void {
  const { connect, query, end } = pg.Client.prototype
  const call = (method: unknown, client: pg.Client, ...given: unknown[]) =>
    Reflect.apply(method as (...given: unknown[]) => unknown, client, given)
  const both = (owner: Owner, begin: (done: Callback) => void, callback: unknown): unknown => {
    if (typeof callback === 'function') return watched(owner, begin, callback as Callback)
    return new Promise((resolve, reject) => {
      watched(owner, begin, (error, answer) => (error ? reject(error) : resolve(answer)))
    })
  }
  Object.assign(pg.Client.prototype, {
    connect(this: pg.Client, callback?: Callback) {
      const owner = owners.getStore()
      if (!owner) return call(connect, this, callback)
      ownerOf.set(this, owner)
      connections.set(owner, (connections.get(owner) ?? new Set()).add(this))
      return both(owner, done => call(connect, this, done), callback)
    },
    query(this: pg.Client, text: unknown, ...given: unknown[]) {
      const owner = ownerOf.get(this)
      if (!owner) return call(query, this, text, ...given)
      const callback = given.findLast(one => typeof one === 'function')
      const values = given.find(one => Array.isArray(one))
      const begin = (done: Callback) => {
        const connection = { destroy: () => destroy(this) }
        owner.statement('before', connection)
        if (!owner.isAlive) return
        call(query, this, virtual(text), ...(values ? [values] : []), done)
        owner.statement('after', connection)
      }
      return both(owner, begin, callback)
    },
    end(this: pg.Client, callback?: Callback) {
      const owner = ownerOf.get(this)
      if (!owner) return call(end, this, callback)
      connections.get(owner)?.delete(this)
      return both(owner, done => call(end, this, done), callback)
    },
  })
}

/** The engine asks for PostgreSQL's own clock by its full name. */
function virtual(text: unknown): unknown {
  return typeof text === 'string' ? text.replaceAll('pg_catalog.now()', 'sim.now()') : text
}

/** Makes a database's clock one that is set by hand. */
export const virtualClock = `
  CREATE SCHEMA IF NOT EXISTS sim;
  CREATE SEQUENCE IF NOT EXISTS sim.clock;
  CREATE OR REPLACE FUNCTION sim.now() RETURNS timestamptz LANGUAGE sql STABLE
    AS 'SELECT pg_catalog.to_timestamp(last_value / 1000.0::float8) FROM sim.clock';
  CREATE OR REPLACE FUNCTION sim.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT sim.now()';`
