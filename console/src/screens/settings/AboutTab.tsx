export { PendingScreen as AboutTab } from '../pending/PendingScreen.js'
