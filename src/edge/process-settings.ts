/** Settings of Node that every process and thread of the program needs: the first import of each entry. */
import { getDefaultAutoSelectFamilyAttemptTimeout, setDefaultAutoSelectFamilyAttemptTimeout } from 'node:net'

/**
 * Time for each address of a name that has several. Node's 250 ms are less than a connection takes to the other side of
 * the world, and without IPv6 no address is left afterwards.
 */
const addressAttemptMs = 2_500

// It holds for every client, undici, sockets and pg among them, that does not say otherwise. An operator may set more.
setDefaultAutoSelectFamilyAttemptTimeout(Math.max(getDefaultAutoSelectFamilyAttemptTimeout(), addressAttemptMs))

// By default Node opens its debugger on this signal, to all that can connect to this machine's ports, as collectors can.
process.on('SIGUSR1', () => {})
