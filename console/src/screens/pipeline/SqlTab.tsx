export { PendingScreen as SqlTab } from '../pending/PendingScreen.js'
