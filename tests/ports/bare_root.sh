# Bare Debian systems in folders, for the scripts beside this file, which source it (bash).
#
# A root is made once by mmdebstrap and kept as an archive, which is unpacked into folders: again and again for a system
# as it was made, once for one that stays. Debian's packages that are downloaded in the root DIR are kept in DIR.debs.
# Commands run in it by chroot, with mounts (/proc, terminals, six devices, packages) and processes in namespaces of
# their own: both are gone when the command ends, however it ends. Mirrors and apt's settings are those of this machine.

# The exit status of a script that could not do its work here, which is no failure.
bare_root_skipped=77

# Why no root can be made here; nothing when it can.
bare_root_obstacle() {
	if [ "$(id -u)" -ne 0 ]; then
		echo "not root"
	elif ! command -v mmdebstrap >/dev/null; then
		echo "mmdebstrap is not installed: tools/install-deps ports"
	elif ! unshare --mount --pid --fork true; then
		echo "this system allows no mounts (CAP_SYS_ADMIN)"
	fi
}

# bare_root_sources SUITE: lines of sources.list. This machine's for its own suite, else its mirror with the other suite.
bare_root_sources() {
	# shellcheck disable=SC2016 # apt's variables
	apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' | sort -u |
		awk -v suite="$1" -v own="$(. /etc/os-release && echo "$VERSION_CODENAME")" '
			$3 != "main" { next }
			$2 == own { mirror = $1 }
			$2 ~ "^" suite "(-updates|-security)?$" { own_lines = own_lines "deb " $1 " " $2 " main\n" }
			END {
				if (own_lines != "")
					printf "%s", own_lines
				else if (mirror != "")
					print "deb " mirror " " suite " main"
			}'
}

# What this machine tells apt about the way to its mirrors.
bare_root_apt_settings() {
	apt-config dump | grep -E '^Acquire::(http|https|ftp|Retries|ForceIPv|Check-|Languages)'
}

# bare_root_make SUITE ARCHIVE: a minimal system (mmdebstrap's minbase) with make and git, unless it is there.
bare_root_make() {
	local suite=$1 archive=$2 options=() line
	[ -f "$archive" ] && return 0
	echo "making a bare root of Debian $suite: $archive"
	mkdir -p "$(dirname "$archive")"
	while read -r line; do
		options+=("--aptopt=$line")
	done < <(bare_root_apt_settings)
	bare_root_sources "$suite" >"$archive.sources"
	mmdebstrap --quiet --mode=root --format=tar --variant=minbase --include=make,git "${options[@]}" \
		"$suite" "$archive.new" - <"$archive.sources" && mv "$archive.new" "$archive"
}

# bare_root_unpack ARCHIVE DIR: the root as it was made, in the place of what was there, without devices.
bare_root_unpack() {
	rm -rf --one-file-system "$2" && mkdir -p "$2" "$2.debs/partial" &&
		tar -C "$2" --numeric-owner --exclude='./dev/*' -xf "$1" &&
		ln -s /proc/self/fd "$2/dev/fd" &&
		{ bare_root_apt_settings >"$2/etc/apt/apt.conf.d/90machine" || true; } &&
		cp -L /etc/resolv.conf "$2/etc/resolv.conf"
}

# bare_root_keep SUITE ARCHIVE DIR PREPARE: a root that stays, with apt's lists of packages, unless it is there; PREPARE is
# a command in it before these are read. It is made in another folder, so that it is whole when it is there.
bare_root_keep() {
	[ ! -d "$3" ] || return 0
	bare_root_make "$1" "$2" && bare_root_unpack "$2" "$3.new" &&
		bare_root_run "$3.new" sh -euc "$4; apt-get update -q" &&
		rm -rf "$3.new.debs" && mkdir -p "$3.debs/partial" && mv "$3.new" "$3"
}

# bare_root_install DIR COMMAND: the packages that COMMAND prints, in a root that stays, which has them in /root/packages.
bare_root_install() {
	# shellcheck disable=SC2016 # expanded by the inner shell
	bare_root_run "$1" sh -euc "{ $2
		} >/root/wanted"'
		! cmp -s /root/wanted /root/packages || exit 0
		export DEBIAN_FRONTEND=noninteractive
		apt-get update -q >/root/install.log # the root may be old
		apt-get install -y -q --no-install-recommends $(cat /root/wanted) >/root/install.log ||
			{ tail -n 40 /root/install.log; exit 1; }
		mv /root/wanted /root/packages'
}

# bare_root_run DIR COMMAND...: in the root, from /root, with a newcomer's environment. The folder that bare_root_source
# names is there as /source, which cannot be written.
bare_root_run() {
	local dir=$1 source=${bare_root_source-}
	shift
	# shellcheck disable=SC2016 # expanded by the inner shell
	unshare --mount --pid --fork --kill-child bash -euc '
		dir=$1 source=$2
		shift 2
		mount -t proc proc "$dir/proc"
		mkdir -p "$dir/dev/pts"
		mount -t devpts -o newinstance,ptmxmode=666 devpts "$dir/dev/pts"
		ln -sf pts/ptmx "$dir/dev/ptmx"
		for node in null zero full random urandom tty; do
			touch "$dir/dev/$node"
			mount --bind "/dev/$node" "$dir/dev/$node"
		done
		mount --bind "$dir.debs" "$dir/var/cache/apt/archives"
		if [ -n "$source" ]; then
			mkdir -p "$dir/source"
			mount --bind "$source" "$dir/source"
			mount -o remount,bind,ro "$dir/source"
		fi
		exec chroot "$dir" env -i HOME=/root LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
			${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
			sh -c "cd /root && exec \"\$@\"" sh "$@"
	' bash "$dir" "$source" "$@" </dev/null
}
