package contender

// RunUncounted answers the lab's events until stop, for a role that counts nothing.
func (l *Lab) RunUncounted() {
	for {
		switch event := l.Next().(type) {
		case Mark:
			l.Counters(event, Values{})
		case Stop:
			l.Result(Values{}, nil)
			return
		}
	}
}
